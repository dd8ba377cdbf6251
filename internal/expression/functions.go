package expression

import (
	"strings"
	"time"

	googlecel "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/stagecraft-go/stagecraft/internal/cel"
	"github.com/stagecraft-go/stagecraft/internal/object"
)

// functions are ours beside those of Quantity.
func functions(limit int) []googlecel.EnvOption {
	strs, text := types.NewListType(types.StringType), types.StringType
	return []googlecel.EnvOption{
		googlecel.Function("UnixSecond",
			googlecel.Overload("unix_second", []*types.Type{types.TimestampType}, types.DoubleType),
			googlecel.MemberOverload("timestamp_unix_second", []*types.Type{types.TimestampType}, types.DoubleType),
			googlecel.SingletonUnaryBinding(unixSecond)),
		googlecel.Function("@since",
			googlecel.Overload("@since_timestamp", []*types.Type{types.DynType, types.TimestampType}, types.DoubleType, googlecel.BinaryBinding(since))),
		googlecel.Function("@replace",
			googlecel.Overload("@replace_all", []*types.Type{text, text, text}, text),
			googlecel.Overload("@replace_n", []*types.Type{text, text, text, types.IntType}, text),
			googlecel.SingletonFunctionBinding(replacer(limit))),
		googlecel.Function("@join",
			googlecel.Overload("@join_all", []*types.Type{strs}, text),
			googlecel.Overload("@join_with", []*types.Type{strs, text}, text),
			googlecel.SingletonFunctionBinding(joiner(limit))),
	}
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
	return time.Parse(time.RFC3339, text)
}

// builders are the functions that make texts.
var builders = []string{"@replace", "@join"}

// replacer is replace of the strings extension, within a limit on the result.
func replacer(limit int) func(...ref.Val) ref.Val {
	return func(args ...ref.Val) ref.Val {
		var s [3]string
		for i := range s {
			text, ok := args[i].(types.String)
			if !ok {
				return types.MaybeNoSuchOverloadErr(args[i])
			}
			s[i] = string(text)
		}
		times := strings.Count(s[0], s[1])
		if len(args) > 3 {
			n, ok := args[3].(types.Int)
			if !ok {
				return types.MaybeNoSuchOverloadErr(args[3])
			}
			if n >= 0 {
				times = min(times, int(n))
			}
		}
		if times > 0 && len(s[2]) > (limit-len(s[0]))/times+len(s[1]) {
			return cel.TooLarge(limit)
		}
		return types.String(strings.Replace(s[0], s[1], s[2], times))
	}
}

// joiner is join of the strings extension, within a limit on the result.
func joiner(limit int) func(...ref.Val) ref.Val {
	return func(args ...ref.Val) ref.Val {
		list, ok := args[0].(traits.Lister)
		separator := types.String("")
		if ok && len(args) > 1 {
			separator, ok = args[1].(types.String)
		}
		if !ok {
			return types.MaybeNoSuchOverloadErr(args[0])
		}
		var b strings.Builder
		for it, first := list.Iterator(), true; it.HasNext() == types.True; first = false {
			text, ok := it.Next().(types.String)
			if !ok {
				return types.NewErr("join: an element is no string")
			}
			if !first {
				b.WriteString(string(separator))
			}
			if b.WriteString(string(text)); b.Len() > limit {
				return cel.TooLarge(limit)
			}
		}
		return types.String(b.String())
	}
}
