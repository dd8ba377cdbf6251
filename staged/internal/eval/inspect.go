package eval

import (
	"cmp"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"
)

// A Mention is a text that stands in an expression, and at which byte.
type Mention struct {
	Text   string
	Offset int // -1 if unknown
}

// Collectors are the names of the collectors that the expression asks for: the first argument of
// cell, and what the name of an element of obj.results is compared with, in the order of the text.
func (p *Program) Collectors() []Mention {
	var found []ast.Expr
	ast.PostOrderVisit(p.Written().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.CallKind:
			if call := e.AsCall(); call.FunctionName() == "@cell" {
				found = append(found, call.Args()[1])
			}
		case ast.ComprehensionKind:
			if c := e.AsComprehension(); isResults(c.IterRange()) {
				found = append(found, namesOf(c.IterVar(), c.LoopStep())...)
			}
		}
	}))
	return p.mentions(found)
}

// mentions are those of the parts that are text literals.
func (p *Program) mentions(parts []ast.Expr) []Mention {
	var all []Mention
	for _, e := range parts {
		if e.Kind() != ast.LiteralKind {
			continue
		}
		if s, ok := e.AsLiteral().(types.String); ok {
			all = append(all, Mention{string(s), p.Place(e)})
		}
	}
	slices.SortStableFunc(all, func(a, b Mention) int { return cmp.Compare(a.Offset, b.Offset) })
	return all
}

func isResults(e ast.Expr) bool {
	return isField(e, "results", "obj") || isField(e, "results", "combinedStatus")
}

func isField(e ast.Expr, field, of string) bool {
	if e.Kind() != ast.SelectKind {
		return false
	}
	s := e.AsSelect()
	return s.FieldName() == field && !s.IsTestOnly() && isIdent(s.Operand(), of)
}

func isIdent(e ast.Expr, name string) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == name }

// namesOf are the parts that the field name of a variable is compared with.
func namesOf(variable string, e ast.Expr) (names []ast.Expr) {
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		op, left, right, ok := comparison(e)
		switch {
		case !ok || op != "==":
		case isField(left, "name", variable):
			names = append(names, right)
		case isField(right, "name", variable):
			names = append(names, left)
		}
	}))
	return names
}

// A Part is a piece of an expression, in its own words.
type Part struct {
	Text string
	// Operator, Left and Right are set for a comparison. A literal stands on the right, if that is
	// possible.
	Operator, Left, Right string
	// Wants are the comparisons with literals within a part that is none itself.
	Wants []string
}

// Conjuncts are the parts that && joins at the top.
func (p *Program) Conjuncts() []Part {
	var parts []Part
	for _, e := range conjuncts(p.Written().Expr()) {
		part := Part{Text: p.text(e)}
		if op, left, right, ok := comparison(e); ok {
			if left.Kind() == ast.LiteralKind && mirrored[op] != "" {
				op, left, right = mirrored[op], right, left
			}
			part.Operator, part.Left, part.Right = op, p.text(left), p.text(right)
		} else {
			part.Wants = p.wants(e)
		}
		parts = append(parts, part)
	}
	return parts
}

func conjuncts(e ast.Expr) []ast.Expr {
	if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.LogicalAnd {
		args := e.AsCall().Args()
		return append(conjuncts(args[0]), conjuncts(args[1])...)
	}
	return []ast.Expr{e}
}

var comparisons = []string{
	operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
}

// mirrored are the comparisons that say the same with their sides exchanged.
var mirrored = map[string]string{"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

func comparison(e ast.Expr) (op string, left, right ast.Expr, ok bool) {
	if e.Kind() != ast.CallKind || !slices.Contains(comparisons, e.AsCall().FunctionName()) {
		return "", nil, nil, false
	}
	op, _ = operators.FindReverseBinaryOperator(e.AsCall().FunctionName())
	args := e.AsCall().Args()
	return op, args[0], args[1], true
}

func (p *Program) wants(e ast.Expr) (wants []string) {
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		_, left, right, ok := comparison(e)
		if ok && (left.Kind() == ast.LiteralKind || right.Kind() == ast.LiteralKind) {
			wants = append(wants, p.text(e))
		}
	}))
	return wants
}

// text is the source text of a part; "" if it has none.
func (p *Program) text(e ast.Expr) string {
	text, err := parser.Unparse(e, p.Written().SourceInfo(), parser.WrapOnColumn(1<<20))
	if err != nil {
		return ""
	}
	return text
}
