package expression

import (
	"fmt"
	"math/big"
	"reflect"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/api/resource"
)

// quantity is a Kubernetes quantity ("100m", "1Gi") as a CEL value: a fraction, exact.
type quantity struct{ *big.Rat }

var quantityType = cel.ObjectType("kubernetes.Quantity",
	traits.AdderType, traits.SubtractorType, traits.MultiplierType, traits.DividerType, traits.NegatorType, traits.ComparerType)

// quantityFunctions declare Quantity and its operators; the operators work through the traits.
var quantityFunctions = []cel.EnvOption{
	cel.Function("Quantity",
		cel.Overload("quantity", []*cel.Type{cel.StringType}, quantityType),
		cel.MemberOverload("string_quantity", []*cel.Type{cel.StringType}, quantityType),
		cel.SingletonUnaryBinding(parseQuantity)),
	cel.Function(operators.Negate, cel.Overload("negate_quantity", []*cel.Type{quantityType}, quantityType)),
	operator(operators.Add, "add", quantityType, quantityType),
	operator(operators.Subtract, "subtract", quantityType, quantityType),
	operator(operators.Multiply, "multiply", quantityType, cel.IntType, cel.UintType, cel.DoubleType),
	operator(operators.Divide, "divide", quantityType, cel.IntType, cel.UintType, cel.DoubleType),
	operator(operators.Less, "less", cel.BoolType, quantityType),
	operator(operators.LessEquals, "less_equals", cel.BoolType, quantityType),
	operator(operators.Greater, "greater", cel.BoolType, quantityType),
	operator(operators.GreaterEquals, "greater_equals", cel.BoolType, quantityType),
}

// operator declares a binary operator of Quantity for each type of its right side.
func operator(function, name string, result *cel.Type, right ...*cel.Type) cel.EnvOption {
	var overloads []cel.FunctionOpt
	for _, r := range right {
		id := fmt.Sprintf("%s_quantity_%s", name, strings.ToLower(r.TypeName()))
		overloads = append(overloads, cel.Overload(id, []*cel.Type{quantityType, r}, result))
	}
	return cel.Function(function, overloads...)
}

func parseQuantity(v ref.Val) ref.Val {
	text, ok := v.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(v)
	}
	if tooLong(string(text)) {
		return types.NewErr("quantity %.20q is too long", string(text))
	}
	q, err := resource.ParseQuantity(string(text))
	if err != nil {
		return types.WrapErr(err)
	}
	r, ok := new(big.Rat).SetString(q.AsDec().String())
	if !ok {
		return types.NewErr("quantity %q is no number", string(text))
	}
	return quantity{r}
}

// Weight is the cost of a calculation with a quantity compared with a short quantity, in steps of
// CEL.
func (q quantity) Weight() int {
	words := (q.Num().BitLen() + q.Denom().BitLen()) / 64
	return words + words*words/16
}

// tooLong reports whether a text has too many digits: exact numbers of this size take too long.
func tooLong(text string) bool {
	if len(text) > 64 {
		return true
	}
	_, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	return len(exponent) > 4
}

// rational returns a CEL number exactly.
func rational(v ref.Val) (*big.Rat, bool) {
	switch n := v.(type) {
	case types.Int:
		return new(big.Rat).SetInt64(int64(n)), true
	case types.Uint:
		return new(big.Rat).SetInt(new(big.Int).SetUint64(uint64(n))), true
	case types.Double:
		r := new(big.Rat).SetFloat64(float64(n))
		return r, r != nil
	}
	return nil, false
}

func (q quantity) with(other ref.Val, combine func(z, x, y *big.Rat) *big.Rat) ref.Val {
	o, ok := other.(quantity)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	return quantity{combine(new(big.Rat), q.Rat, o.Rat)}
}

// Add implements traits.Adder.
func (q quantity) Add(other ref.Val) ref.Val { return q.with(other, (*big.Rat).Add) }

// Subtract implements traits.Subtractor.
func (q quantity) Subtract(other ref.Val) ref.Val { return q.with(other, (*big.Rat).Sub) }

// Negate implements traits.Negater.
func (q quantity) Negate() ref.Val { return quantity{new(big.Rat).Neg(q.Rat)} }

// Multiply implements traits.Multiplier.
func (q quantity) Multiply(other ref.Val) ref.Val {
	n, ok := rational(other)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	return quantity{n.Mul(q.Rat, n)}
}

// Divide implements traits.Divider.
func (q quantity) Divide(other ref.Val) ref.Val {
	n, ok := rational(other)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	if n.Sign() == 0 {
		return types.NewErr("division by zero")
	}
	return quantity{n.Quo(q.Rat, n)}
}

// Compare implements traits.Comparer.
func (q quantity) Compare(other ref.Val) ref.Val {
	o, ok := other.(quantity)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	return types.Int(q.Cmp(o.Rat))
}

// Equal implements ref.Val.
func (q quantity) Equal(other ref.Val) ref.Val {
	o, ok := other.(quantity)
	return types.Bool(ok && q.Cmp(o.Rat) == 0)
}

// ConvertToNative implements ref.Val.
func (q quantity) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("a Quantity has no %v", t)
}

// ConvertToType implements ref.Val.
func (q quantity) ConvertToType(t ref.Type) ref.Val {
	if t == types.TypeType {
		return quantityType
	}
	return types.NewErr("a Quantity has no %s", t.TypeName())
}

// Type implements ref.Val.
func (q quantity) Type() ref.Type { return quantityType }

// Value implements ref.Val.
func (q quantity) Value() any { return q.Rat }
