package eval

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// num is a double, so that its misuse is a fault; CEL alone would then refuse num('sum') == 1 and
// num('sum') + 1. So integers that meet a num become doubles before types are checked: literals,
// variables, size(…) and what is computed of these. So do integers that meet a cell, which is a double
// if it is a number at all.

// A numeral is what can be said of the type of a part without checking it.
type numeral int

const (
	other   numeral = iota
	integer         // int or uint
	number          // double, because of num or cell
)

// mixing are the operators whose operands must be of one type.
var mixing = []string{
	operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
	operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Conditional, operators.In,
}

// A mixer makes doubles of the integers that meet a num.
type mixer struct {
	factory   ast.ExprFactory
	variables map[string]*types.Type
	tree      *ast.AST
	next      int64 // id
}

func mixNumbers(tree *ast.AST, variables map[string]*types.Type) {
	m := &mixer{ast.NewExprFactory(), variables, tree, ast.MaxID(tree)}
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(m.visit))
}

// ordering are the operators that order their operands. KubeStellar's cel-go refuses NaN there, where
// a newer one says false.
var ordering = []string{operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals}

// refuseNaN makes errors of comparisons that order NaN.
func refuseNaN(tree *ast.AST) {
	m := &mixer{factory: ast.NewExprFactory(), tree: tree, next: ast.MaxID(tree)}
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || !slices.Contains(ordering, e.AsCall().FunctionName()) {
			return
		}
		args := slices.Clone(e.AsCall().Args())
		for i, arg := range args {
			if arg.Kind() != ast.LiteralKind {
				args[i] = m.wrap("@ordered", arg)
			}
		}
		e.SetKindCase(m.factory.NewCall(e.ID(), e.AsCall().FunctionName(), args...))
	}))
}

func (m *mixer) visit(e ast.Expr) {
	if e.Kind() != ast.CallKind || !slices.Contains(mixing, e.AsCall().FunctionName()) {
		return
	}
	call := e.AsCall()
	if !slices.ContainsFunc(operands(call), func(o ast.Expr) bool { return m.numeral(o) == number }) {
		return
	}
	args := m.doubles(call.Args())
	if list := args[len(args)-1]; call.FunctionName() == operators.In && list.Kind() == ast.ListKind {
		args[1] = m.factory.NewList(list.ID(), m.doubles(list.AsList().Elements()), list.AsList().OptionalIndices())
	}
	e.SetKindCase(m.factory.NewCall(e.ID(), call.FunctionName(), args...))
}

// operands are the parts of a call to an operator that must be of one type.
func operands(call ast.CallExpr) []ast.Expr {
	args := call.Args()
	switch call.FunctionName() {
	case operators.Conditional:
		return args[1:]
	case operators.In:
		if args[1].Kind() == ast.ListKind {
			return append(args[:1:1], args[1].AsList().Elements()...)
		}
	}
	return args
}

// doubles are the same parts with doubles for integers.
func (m *mixer) doubles(parts []ast.Expr) []ast.Expr {
	parts = slices.Clone(parts)
	for i, e := range parts {
		if m.numeral(e) == integer {
			parts[i] = m.double(e)
		}
	}
	return parts
}

func (m *mixer) double(e ast.Expr) ast.Expr { return m.wrap("double", e) }

// wrap hands a part to a function, at the place of the part.
func (m *mixer) wrap(function string, e ast.Expr) ast.Expr {
	id := m.next
	m.next++
	if place, ok := m.tree.SourceInfo().GetOffsetRange(e.ID()); ok {
		m.tree.SourceInfo().SetOffsetRange(id, place)
	}
	return m.factory.NewCall(id, function, e)
}

func (m *mixer) numeral(e ast.Expr) numeral {
	var t ref.Type
	switch e.Kind() {
	case ast.LiteralKind:
		t = e.AsLiteral().Type()
	case ast.IdentKind:
		t = m.variables[e.AsIdent()]
	case ast.CallKind:
		return m.call(e.AsCall())
	}
	if t == types.IntType || t == types.UintType {
		return integer
	}
	return other
}

func (m *mixer) call(call ast.CallExpr) numeral {
	switch call.FunctionName() {
	case "@num", "@cell":
		return number
	case "size", "int", "uint":
		return integer
	case operators.Negate, operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Conditional:
		return m.computed(operands(call))
	}
	return other
}

// computed is what arithmetic on parts gives: a number if one is, an integer if all are.
func (m *mixer) computed(parts []ast.Expr) numeral {
	result := integer
	for _, e := range parts {
		switch m.numeral(e) {
		case number:
			return number
		case other:
			result = other
		}
	}
	return result
}
