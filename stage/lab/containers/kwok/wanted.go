package kwok

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/api/resource"
)

// A wanted says what an expression has to return.
type wanted struct {
	what    string       // for messages
	kinds   []types.Kind // of CEL, in addition to values whose type is not known before the evaluation
	bounded bool         // a number from 0 to most
	most    float64
}

var (
	numbers = []types.Kind{types.IntKind, types.UintKind, types.DoubleKind}
	aString = wanted{what: "a string", kinds: []types.Kind{types.StringKind}}
	aNumber = wanted{what: "a number", kinds: append([]types.Kind{types.BoolKind, types.DurationKind}, numbers...)}
)

// amountTo returns the numbers of cores or bytes from 0 to most. A boolean or a duration is none.
func amountTo(most float64) wanted {
	return wanted{"an amount", numbers, true, most}
}

// to returns w for numbers from 0 to most.
func (w wanted) to(most float64) wanted {
	w.bounded, w.most = true, most
	return w
}

// exponents writes 1e6 instead of 1e+06.
var exponents = strings.NewReplacer("e+0", "e", "e+", "e")

// accept returns an error for a number out of the bounds.
func (w wanted) accept(n float64) error {
	switch {
	case !w.bounded || n >= 0 && n <= w.most: // not NaN
		return nil
	case math.IsInf(w.most, 1):
		return fmt.Errorf("want a number of at least 0, got %g", n)
	}
	return fmt.Errorf("want a number from 0 to %s, got %s", exponents.Replace(fmt.Sprint(w.most)), exponents.Replace(fmt.Sprint(n)))
}

// refuses returns an error for a type that CEL knows before the evaluation.
func (w wanted) refuses(t *cel.Type) error {
	if kind := t.Kind(); kind == types.DynKind || kind == types.AnyKind || slices.Contains(w.kinds, kind) {
		return nil
	}
	name := t.String()
	if short, is := strings.CutPrefix(name, "google.protobuf."); is {
		name = strings.ToLower(short)
	}
	return fmt.Errorf("want %s, got a value of type %s", w.what, name)
}

// isConstant reports whether an expression has no variable. Time and random numbers are variables.
func isConstant(e ast.Expr) bool {
	constant := true
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		constant = constant && e.Kind() != ast.IdentKind
	}))
	return constant
}

// checkQuantity refuses a call of Quantity with a literal that is none.
func checkQuantity(c ast.CallExpr) error {
	of := c.Args()
	if c.IsMemberFunction() {
		of = append([]ast.Expr{c.Target()}, of...)
	}
	if c.FunctionName() != "Quantity" || len(of) == 0 || of[0].Kind() != ast.LiteralKind {
		return nil
	}
	literal := of[0].AsLiteral()
	s, is := literal.(types.String)
	if !is {
		return fmt.Errorf("Quantity: want a string, got %v", literal.Value())
	}
	if _, err := resource.ParseQuantity(string(s)); err != nil {
		return fmt.Errorf("Quantity(%q): %w", string(s), err)
	}
	return nil
}

// checkDivision refuses a division of integers by a literal zero.
func checkDivision(c ast.CallExpr) error {
	if name := c.FunctionName(); name != "_/_" && name != "_%_" || c.Args()[1].Kind() != ast.LiteralKind {
		return nil
	}
	if zero := c.Args()[1].AsLiteral(); zero == types.Int(0) || zero == types.Uint(0) {
		return errors.New("division by zero")
	}
	return nil
}
