package celrule

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	celtypes "github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"

	"github.com/stagecraft-go/stagecraft/internal/position"
)

// An exporter writes expressions as another evaluator wants them.
type exporter struct {
	self    string // the name of the object; "": its fields are called by their names
	library []cel.EnvOption
}

var errNoSelf = errors.New("there the object as a whole has no name: name its fields")

// export returns an expression of a field of a Spec for the other evaluator, "" without one.
func (x *exporter) export(field, source string, faults *position.Faults) string {
	tree, err := parse(source)
	if source == "" || err != nil {
		return "" // the Spec's own faults say why
	}
	g := guards{keepRoot: x.self != ""}
	exported, err := parser.Unparse(x.lower(g.holds(canonical(tree, nil), true)), ast.NewSourceInfo(nil), parser.WrapOnColumn(oneLine))
	if err == nil {
		err = x.check(exported)
	}
	if err != nil {
		faults.Addf(field, "%w", err)
	}
	return exported
}

// parse parses an expression without expanding macros, so that it can be written again.
func parse(source string) (ast.Expr, error) {
	p, err := parser.NewParser(parser.EnableOptionalSyntax(true), parser.Macros())
	if err != nil {
		return nil, err
	}
	tree, errs := p.Parse(common.NewTextSource(source))
	if len(errs.GetErrors()) > 0 {
		return nil, errors.New(errs.ToDisplayString())
	}
	return tree.Expr(), nil
}

// check returns an error if the other evaluator lacks what an exported expression uses.
func (x *exporter) check(source string) error {
	options := slices.Clone(x.library)
	names := append(namesIn(source), topLevel...)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		options = append(options, cel.Variable(name, cel.DynType))
	}
	env, err := cel.NewEnv(options...)
	if err != nil {
		return err
	}
	if slices.Contains(names, "self") {
		return errNoSelf
	}
	if _, issues := env.Compile(source); issues.Err() != nil {
		return fmt.Errorf("there: %s", issues.Errors()[0].Message)
	}
	return nil
}

// oneLine is more columns than an expression has.
const oneLine = 1 << 30

var build = ast.NewExprFactory()

// canonical returns an expression in which each field of the object is a field of self. The bound
// names are those of macros.
func canonical(e ast.Expr, bound []string) ast.Expr {
	if e.Kind() == ast.IdentKind {
		name := e.AsIdent()
		if name == "self" || slices.Contains(bound, name) || slices.Contains(types, name) {
			return build.NewIdent(0, name)
		}
		return build.NewSelect(0, build.NewIdent(0, "self"), name)
	}
	declared := declares(e)
	return rebuild(e, func(i int, child ast.Expr) ast.Expr {
		switch {
		case i >= 0 && i < len(declared):
			return build.NewIdent(0, child.AsIdent())
		case i >= 0:
			return canonical(child, append(slices.Clip(bound), declared...))
		}
		return canonical(child, bound)
	})
}

// lower returns a canonical expression in the names of the other evaluator.
func (x *exporter) lower(e ast.Expr) ast.Expr {
	field, isRoot := rootField(e)
	switch {
	case isRoot && x.self == "":
		return build.NewIdent(0, field)
	case e.Kind() == ast.IdentKind && e.AsIdent() == "self" && x.self != "":
		return build.NewIdent(0, x.self)
	case isCall(e, "has", 1) && x.self == "":
		if field, isRoot := rootField(e.AsCall().Args()[0]); isRoot {
			// has() takes no variable. This is true if the field is there, also if it is null, and
			// else an error.
			list := build.NewList(0, []ast.Expr{build.NewIdent(0, field)}, nil)
			return call(operators.Equals, call("size", list), build.NewLiteral(0, celtypes.Int(1)))
		}
	}
	return rebuild(e, func(_ int, child ast.Expr) ast.Expr { return x.lower(child) })
}

// rootField returns the field of self that an expression is.
func rootField(e ast.Expr) (string, bool) {
	if e.Kind() != ast.SelectKind {
		return "", false
	}
	operand := e.AsSelect().Operand()
	return e.AsSelect().FieldName(), operand.Kind() == ast.IdentKind && operand.AsIdent() == "self"
}
