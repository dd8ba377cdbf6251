package expr

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// adapter gives CEL the values of an object without copying them. It differs from CEL's own in json.Number, a number.
type adapter struct{ types.Adapter }

// NativeToValue implements types.Adapter.
func (a adapter) NativeToValue(v any) ref.Val {
	switch x := v.(type) {
	case map[string]any:
		return types.NewStringInterfaceMap(a, x)
	case []any:
		return types.NewDynamicList(a, x)
	case []map[string]any:
		return types.NewDynamicList(a, x)
	case json.Number:
		if n := object.Number(x); n != nil {
			return a.Adapter.NativeToValue(n)
		}
	}
	return a.Adapter.NativeToValue(v)
}

// functions are ours beside those of Quantity.
func functions(limit int) []cel.EnvOption {
	strs, text := cel.ListType(cel.StringType), cel.StringType
	param := cel.TypeParamType("T")
	return []cel.EnvOption{
		cel.Function("UnixSecond",
			cel.Overload("unix_second", []*cel.Type{cel.TimestampType}, cel.DoubleType),
			cel.MemberOverload("timestamp_unix_second", []*cel.Type{cel.TimestampType}, cel.DoubleType),
			cel.SingletonUnaryBinding(unixSecond)),
		cel.Function("@since",
			cel.Overload("@since_timestamp", []*cel.Type{cel.DynType, cel.TimestampType}, cel.DoubleType, cel.BinaryBinding(since))),
		cel.Function("@sorted",
			cel.Overload("@sorted_any", []*cel.Type{param}, param, cel.UnaryBinding(sorted))),
		cel.Function("@replace",
			cel.Overload("@replace_all", []*cel.Type{text, text, text}, text),
			cel.Overload("@replace_n", []*cel.Type{text, text, text, cel.IntType}, text),
			cel.SingletonFunctionBinding(replacer(limit))),
		cel.Function("@join",
			cel.Overload("@join_all", []*cel.Type{strs}, text),
			cel.Overload("@join_with", []*cel.Type{strs, text}, text),
			cel.SingletonFunctionBinding(joiner(limit))),
	}
}

func unixSecond(v ref.Val) ref.Val {
	t, ok := v.(types.Timestamp)
	if !ok {
		return types.MaybeNoSuchOverloadErr(v)
	}
	return types.Double(unixSeconds(t.Time))
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

// sorted is a map that is iterated in the order of its keys, or any other value as it is.
func sorted(v ref.Val) ref.Val {
	if m, ok := v.(traits.Mapper); ok {
		return sortedMap{m}
	}
	return v
}

type sortedMap struct{ traits.Mapper }

// Iterator implements traits.Iterable.
func (m sortedMap) Iterator() traits.Iterator {
	var keys []ref.Val
	for it := m.Mapper.Iterator(); it.HasNext() == types.True; {
		keys = append(keys, it.Next())
	}
	slices.SortFunc(keys, compareKeys)
	return types.NewRefValList(types.DefaultTypeAdapter, keys).Iterator()
}

func compareKeys(a, b ref.Val) int {
	if c := cmp.Compare(a.Type().TypeName(), b.Type().TypeName()); c != 0 {
		return c
	}
	order, _ := a.(traits.Comparer)
	if order == nil {
		return 0
	}
	c, _ := order.Compare(b).(types.Int)
	return int(c)
}

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
			return tooLarge(limit)
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
				return tooLarge(limit)
			}
		}
		return types.String(b.String())
	}
}
