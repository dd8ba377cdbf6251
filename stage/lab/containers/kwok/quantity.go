package kwok

import (
	"fmt"
	"reflect"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/stagecraft-go/stagecraft/stage/lab/containers/internal/amount"
)

// A quantity is an amount of a resource. Amounts can be added, subtracted and compared, and
// multiplied with and divided by numbers.
type quantity float64

var amountType = cel.ObjectType("kubernetes.Quantity",
	traits.AdderType, traits.ComparerType, traits.DividerType, traits.MultiplierType, traits.NegatorType, traits.SubtractorType)

// parseQuantity is the function Quantity. An amount stays as it is.
func parseQuantity(v ref.Val) ref.Val {
	if q, is := v.(quantity); is {
		return q
	}
	text, _ := v.Value().(string)
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return types.NewErr("Quantity(%q): %v", text, err)
	}
	return quantity(amount.Float(q))
}

// with calculates with another amount.
func (q quantity) with(other ref.Val, do func(a, b quantity) ref.Val) ref.Val {
	if b, is := other.(quantity); is {
		return do(q, b)
	}
	return types.MaybeNoSuchOverloadErr(other)
}

// by calculates with a number.
func (q quantity) by(other ref.Val, do func(a, b float64) float64) ref.Val {
	switch n := other.(type) {
	case types.Int:
		return quantity(do(float64(q), float64(n)))
	case types.Uint:
		return quantity(do(float64(q), float64(n)))
	case types.Double:
		return quantity(do(float64(q), float64(n)))
	}
	return types.MaybeNoSuchOverloadErr(other)
}

// Add implements q + q.
func (q quantity) Add(other ref.Val) ref.Val {
	return q.with(other, func(a, b quantity) ref.Val { return a + b })
}

// Subtract implements q - q.
func (q quantity) Subtract(other ref.Val) ref.Val {
	return q.with(other, func(a, b quantity) ref.Val { return a - b })
}

// Compare implements <, <=, >= and >.
func (q quantity) Compare(other ref.Val) ref.Val {
	return q.with(other, func(a, b quantity) ref.Val { return types.Double(a).Compare(types.Double(b)) })
}

// Equal implements == and !=.
func (q quantity) Equal(other ref.Val) ref.Val {
	return q.with(other, func(a, b quantity) ref.Val { return types.Bool(a == b) })
}

// Multiply implements q * number.
func (q quantity) Multiply(other ref.Val) ref.Val {
	return q.by(other, func(a, b float64) float64 { return a * b })
}

// Divide implements q / number.
func (q quantity) Divide(other ref.Val) ref.Val {
	return q.by(other, func(a, b float64) float64 { return a / b })
}

// Negate implements -q.
func (q quantity) Negate() ref.Val { return -q }

// Type implements [ref.Val].
func (q quantity) Type() ref.Type { return amountType }

// ConvertToNative implements [ref.Val].
func (q quantity) ConvertToNative(to reflect.Type) (any, error) {
	return nil, fmt.Errorf("an amount cannot be converted to %s", to)
}

// ConvertToType implements [ref.Val].
func (q quantity) ConvertToType(to ref.Type) ref.Val {
	return types.NewErr("an amount cannot be converted to %s", to.TypeName())
}

// Value implements [ref.Val].
func (q quantity) Value() any { return float64(q) }
