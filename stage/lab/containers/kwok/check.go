package kwok

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	corev1 "k8s.io/api/core/v1"
)

// missing are the variables that metrics of a dimension do not have.
var missing = map[string][]string{"node": {"pod", "container"}, "pod": {"container"}}

// check finds what CEL cannot know: fields that a Node, a Pod or a container does not have, variables of
// another dimension, and resources that are not measured.
func check(e ast.Expr, dimension string) (err error) {
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		if err != nil {
			return
		}
		switch e.Kind() {
		case ast.IdentKind:
			if slices.Contains(missing[dimension], e.AsIdent()) {
				err = fmt.Errorf("a metric of the dimension %s has no %s", dimension, e.AsIdent())
			}
		case ast.SelectKind:
			s := e.AsSelect()
			if t := typeOf(s.Operand()); t != nil && t.Kind() == reflect.Struct && typeOf(e) == nil {
				err = fmt.Errorf("undefined field %q", s.FieldName())
			}
		case ast.CallKind:
			err = cmp.Or(checkCall(e.AsCall()), checkQuantity(e.AsCall()), checkDivision(e.AsCall()))
		}
	}))
	return err
}

// checkCall refuses the use of resources that are not measured.
func checkCall(c ast.CallExpr) error {
	measured := map[string][]string{"Usage": {"cpu", "memory"}, "CumulativeUsage": {"cpu"}}[c.FunctionName()]
	if measured == nil || !c.IsMemberFunction() || len(c.Args()) == 0 || c.Args()[0].Kind() != ast.LiteralKind {
		return nil
	}
	if name, is := c.Args()[0].AsLiteral().(types.String); is && !slices.Contains(measured, string(name)) {
		return fmt.Errorf("%s of %q is not supported: want one of %v", c.FunctionName(), string(name), measured)
	}
	return nil
}

// typeOf returns the Go type of an expression; nil if it is not known.
func typeOf(e ast.Expr) reflect.Type {
	switch e.Kind() {
	case ast.IdentKind:
		return roots[e.AsIdent()]
	case ast.SelectKind:
		return partOf(typeOf(e.AsSelect().Operand()), e.AsSelect().FieldName())
	case ast.CallKind:
		if c := e.AsCall(); c.FunctionName() == operators.Index {
			return partOf(typeOf(c.Args()[0]), "")
		}
	}
	return nil
}

// partOf returns the type of a field of a struct, or of an item of a list or map.
func partOf(t reflect.Type, field string) reflect.Type {
	switch {
	case t == nil || t == reflect.TypeFor[corev1.ResourceList]():
		return nil
	case t.Kind() == reflect.Struct:
		index, found := fieldOf(t, field)
		if !found {
			return nil
		}
		t = t.FieldByIndex(index).Type
	case t.Kind() == reflect.Map || t.Kind() == reflect.Slice:
		t = t.Elem()
	default:
		return nil
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}
