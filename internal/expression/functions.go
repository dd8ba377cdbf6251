package expression

import (
	"fmt"
	"time"

	googlecel "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/stagecraft-go/stagecraft/internal/cel"
	"github.com/stagecraft-go/stagecraft/internal/object"
)

// functions are our functions, except for Quantity.
var functions = []googlecel.EnvOption{
	googlecel.Function("UnixSecond",
		googlecel.Overload("unix_second", []*types.Type{types.TimestampType}, types.DoubleType),
		googlecel.MemberOverload("timestamp_unix_second", []*types.Type{types.TimestampType}, types.DoubleType),
		googlecel.SingletonUnaryBinding(unixSecond)),
	googlecel.Function("@since",
		googlecel.Overload("@since_timestamp", []*types.Type{types.DynType, types.TimestampType}, types.DoubleType, googlecel.BinaryBinding(since))),
}

// costs has the functions that do not read their arguments as a whole.
var costs = map[string]cel.Cost{
	"@since":   func([]ref.Val, int) (steps, size int) { return 8, 0 },
	"Quantity": func([]ref.Val, int) (steps, size int) { return 16, 0 },
}

func unixSecond(v ref.Val) ref.Val {
	t, ok := v.(types.Timestamp)
	if !ok {
		return types.MaybeNoSuchOverloadErr(v)
	}
	return types.Double(float64(t.Unix()) + float64(t.Nanosecond())/1e9)
}

// since is the age of an object in seconds.
func since(obj, now ref.Val) ref.Val {
	m, ok := obj.Value().(map[string]any)
	t, isTime := now.(types.Timestamp)
	if !ok || !isTime {
		return types.MaybeNoSuchOverloadErr(obj)
	}
	created, err := creation(m)
	if err != nil {
		return types.WrapErr(err)
	}
	return types.Double(t.Sub(created).Seconds())
}

func creation(obj map[string]any) (time.Time, error) {
	v, _ := object.Get(obj, "metadata", "creationTimestamp")
	if t, ok := v.(time.Time); ok {
		return t, nil
	}
	text, _ := v.(string)
	if len(text) > 64 { // the error would have it in it
		return time.Time{}, fmt.Errorf("metadata.creationTimestamp is no time: it has %d bytes", len(text))
	}
	return time.Parse(time.RFC3339, text)
}
