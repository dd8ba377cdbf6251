package celrule

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	celtypes "github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"
)

// guards write an expression that is never an error because a field is missing: it is true where
// the given one is true, and false where that is false or such an error. For this they go down to
// the parts without logical operators. Such a part is false where it would be an error or, below a
// negation, true.
type guards struct{ keepRoot bool } // guard also the fields of self

// holds returns the guarded form of an expression, for a place where an error counts as false; or,
// if positive is false, as true.
func (g guards) holds(e ast.Expr, positive bool) ast.Expr {
	switch {
	case isCall(e, operators.LogicalAnd, 2), isCall(e, operators.LogicalOr, 2):
		args := e.AsCall().Args()
		return call(e.AsCall().FunctionName(), g.holds(args[0], positive), g.holds(args[1], positive))
	case isCall(e, operators.LogicalNot, 1):
		return call(operators.LogicalNot, g.holds(e.AsCall().Args()[0], !positive))
	case isCall(e, operators.Conditional, 3):
		return g.either(e.AsCall().Args(), positive)
	case quantifies(e):
		c := e.AsCall()
		args := slices.Clone(c.Args())
		last := len(args) - 1
		args[last] = g.holds(args[last], positive)
		var conditions []ast.Expr
		g.collectRange(c.Target(), &conditions)
		return guarded(conditions, build.NewMemberCall(0, c.FunctionName(), c.Target(), args...), positive)
	}
	var conditions []ast.Expr
	g.collect(e, &conditions)
	return guarded(conditions, e, positive)
}

// either writes c ? a : b as (c && a) || (!c && b), or where an error counts as true as
// (!c || a) && (c || b), so that an error in c counts as such.
func (g guards) either(args []ast.Expr, positive bool) ast.Expr {
	inner, outer := operators.LogicalAnd, operators.LogicalOr
	first, second := g.holds(args[0], positive), call(operators.LogicalNot, g.holds(args[0], !positive))
	if !positive {
		inner, outer, first, second = outer, inner, second, first
	}
	return call(outer, call(inner, first, g.holds(args[1], positive)), call(inner, second, g.holds(args[2], positive)))
}

// guarded puts conditions before an expression.
func guarded(conditions []ast.Expr, e ast.Expr, positive bool) ast.Expr {
	for _, c := range slices.Backward(conditions) {
		if positive {
			e = call(operators.LogicalAnd, c, e)
		} else {
			e = call(operators.LogicalOr, call(operators.LogicalNot, c), e)
		}
	}
	return e
}

// collect appends the conditions for an expression to be no error, outer fields first. Parts that
// are evaluated only sometimes are left out: the branches of logical operators.
func (g guards) collect(e ast.Expr, conditions *[]ast.Expr) {
	switch e.Kind() {
	case ast.SelectKind:
		g.collectOperand(e.AsSelect().Operand(), conditions)
		if _, isRoot := rootField(e); isPath(e.AsSelect().Operand()) && (!isRoot || g.keepRoot) && !isMetadata(e) {
			appendNew(conditions, call("has", e))
		}
	case ast.ListKind:
		for _, item := range e.AsList().Elements() {
			g.collect(item, conditions)
		}
	case ast.CallKind:
		if declared := declares(e); declared != nil {
			g.collectMacro(e.AsCall(), declared, conditions)
			return
		}
		g.collectCall(e.AsCall(), conditions)
	}
}

// collectOperand appends the conditions for the operand of a selection, which must be a map. The
// fields of self are not asked for that: the general rules of kstatus do.
func (g guards) collectOperand(operand ast.Expr, conditions *[]ast.Expr) {
	g.collect(operand, conditions)
	if _, isRoot := rootField(operand); operand.Kind() == ast.SelectKind && isPath(operand) && !isRoot {
		appendNew(conditions, call(operators.Equals, call("type", operand), build.NewIdent(0, "map")))
	}
}

// collectRange appends the conditions for what a macro goes over.
func (g guards) collectRange(e ast.Expr, conditions *[]ast.Expr) {
	g.collect(e, conditions)
	if isPath(e) {
		appendNew(conditions, call(operators.NotEquals, e, build.NewLiteral(0, celtypes.NullValue)))
	}
}

// collectMacro appends the conditions for a macro that fails if its body does for one element.
func (g guards) collectMacro(c ast.CallExpr, declared []string, conditions *[]ast.Expr) {
	g.collectRange(c.Target(), conditions)
	var each []ast.Expr
	for _, body := range c.Args()[len(declared):] {
		g.collect(body, &each)
	}
	if len(declared) != 1 || len(each) == 0 {
		return
	}
	all := each[0]
	for _, one := range each[1:] {
		all = call(operators.LogicalAnd, all, one)
	}
	appendNew(conditions, build.NewMemberCall(0, "all", c.Target(), build.NewIdent(0, declared[0]), all))
}

func (g guards) collectCall(c ast.CallExpr, conditions *[]ast.Expr) {
	args := c.Args()
	switch name := c.FunctionName(); {
	case c.IsMemberFunction():
		g.collect(c.Target(), conditions)
	case name == "has" && args[0].Kind() == ast.SelectKind:
		g.collectOperand(args[0].AsSelect().Operand(), conditions)
		return
	case name == operators.LogicalAnd, name == operators.LogicalOr, name == operators.Conditional:
		g.collect(args[0], conditions)
		return
	}
	for _, arg := range args {
		g.collect(arg, conditions)
	}
	if c.FunctionName() == operators.Index && isPath(args[0]) && args[1].Kind() == ast.LiteralKind {
		appendNew(conditions, contains(args[0], args[1]))
	}
}

// contains returns the condition that a map has a key, or a list an index.
func contains(operand, index ast.Expr) ast.Expr {
	if index.AsLiteral().Type() == celtypes.IntType {
		return call(operators.Greater, call("size", operand), index)
	}
	return call(operators.In, index, operand)
}

// isMetadata reports whether an expression is self.metadata, which every object has.
func isMetadata(e ast.Expr) bool {
	field, isRoot := rootField(e)
	return isRoot && field == "metadata"
}

// isPath reports whether an expression reads a field of the object or of an element, and has a
// value or is an error, unlike an optional one.
func isPath(e ast.Expr) bool {
	switch e.Kind() {
	case ast.IdentKind:
		return true
	case ast.SelectKind:
		return isPath(e.AsSelect().Operand())
	}
	return isCall(e, operators.Index, 2) && isPath(e.AsCall().Args()[0])
}

func appendNew(conditions *[]ast.Expr, c ast.Expr) {
	text := textOf(c)
	if !slices.ContainsFunc(*conditions, func(old ast.Expr) bool { return textOf(old) == text }) {
		*conditions = append(*conditions, c)
	}
}

func textOf(e ast.Expr) string {
	text, _ := parser.Unparse(e, ast.NewSourceInfo(nil)) // it came from a text
	return text
}

func call(function string, args ...ast.Expr) ast.Expr { return build.NewCall(0, function, args...) }

func isCall(e ast.Expr, function string, args int) bool {
	return e.Kind() == ast.CallKind && !e.AsCall().IsMemberFunction() && e.AsCall().FunctionName() == function && len(e.AsCall().Args()) == args
}

// macros are the functions whose first arguments are names for their last one.
var macros = []string{
	"all", "exists", "exists_one", "existsOne", "filter", "map", "optMap", "optFlatMap", "transformList", "transformMap", "transformMapEntry",
}

// declares returns the names that a macro gives to elements.
func declares(e ast.Expr) (names []string) {
	if e.Kind() != ast.CallKind || !e.AsCall().IsMemberFunction() || !slices.Contains(macros, e.AsCall().FunctionName()) {
		return nil
	}
	args := e.AsCall().Args()
	for i, arg := range args {
		one := i == 1 && e.AsCall().FunctionName() == "map"
		if arg.Kind() != ast.IdentKind || i == len(args)-1 || one || i > 1 {
			break
		}
		names = append(names, arg.AsIdent())
	}
	return names
}

// quantifies reports whether an expression is an exists or all, which are errors only as the
// operators || and && are.
func quantifies(e ast.Expr) bool {
	return len(declares(e)) > 0 && (e.AsCall().FunctionName() == "exists" || e.AsCall().FunctionName() == "all")
}

// rebuild returns an expression with each direct part replaced. The index is that of an
// argument of a member function, -1 for every other part.
func rebuild(e ast.Expr, replace func(i int, part ast.Expr) ast.Expr) ast.Expr {
	each := func(parts []ast.Expr, isArgument bool) []ast.Expr {
		out := make([]ast.Expr, len(parts))
		for i, part := range parts {
			at := -1
			if isArgument {
				at = i
			}
			out[i] = replace(at, part)
		}
		return out
	}
	switch e.Kind() {
	case ast.SelectKind:
		return build.NewSelect(0, replace(-1, e.AsSelect().Operand()), e.AsSelect().FieldName())
	case ast.ListKind:
		return build.NewList(0, each(e.AsList().Elements(), false), e.AsList().OptionalIndices())
	case ast.CallKind:
		c := e.AsCall()
		if c.IsMemberFunction() {
			return build.NewMemberCall(0, c.FunctionName(), replace(-1, c.Target()), each(c.Args(), true)...)
		}
		return build.NewCall(0, c.FunctionName(), each(c.Args(), false)...)
	case ast.MapKind:
		entries := make([]ast.EntryExpr, len(e.AsMap().Entries()))
		for i, entry := range e.AsMap().Entries() {
			m := entry.AsMapEntry()
			entries[i] = build.NewMapEntry(0, replace(-1, m.Key()), replace(-1, m.Value()), m.IsOptional())
		}
		return build.NewMap(0, entries)
	}
	return build.CopyExpr(e)
}
