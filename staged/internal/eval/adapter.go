package eval

import (
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// adapter differs from CEL's own in that maps are iterated in the order of their keys.
type adapter struct{ types.Adapter }

// NativeToValue implements types.Adapter.
func (a adapter) NativeToValue(v any) ref.Val {
	switch x := v.(type) {
	case map[string]any:
		return sortedMap{types.NewStringInterfaceMap(a, x)}
	case []any:
		return types.NewDynamicList(a, x)
	}
	return a.Adapter.NativeToValue(v)
}

type sortedMap struct{ traits.Mapper }

// Iterator implements traits.Iterable.
func (m sortedMap) Iterator() traits.Iterator {
	var keys []string
	for it := m.Mapper.Iterator(); it.HasNext() == types.True; {
		if key, ok := it.Next().Value().(string); ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return types.NewStringList(types.DefaultTypeAdapter, keys).Iterator()
}
