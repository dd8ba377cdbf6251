package cel

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// adapter gives cel-go the values of an object without copying them. It differs from cel-go's own
// in json.Number, a number, and in the order of maps.
type adapter struct{}

// NativeToValue implements types.Adapter.
func (a adapter) NativeToValue(v any) ref.Val {
	switch x := v.(type) {
	case map[string]any:
		return jsonMap(x)
	case []any:
		return jsonList(x)
	case []map[string]any:
		return types.NewDynamicList(a, x)
	case string:
		return types.String(x)
	case json.Number:
		if n := object.Number(x); n != nil {
			v = n
		}
	}
	return types.DefaultTypeAdapter.NativeToValue(v)
}

// jsonMap and jsonList are maps and lists of an object as CEL values. cel-go also has such types,
// but they allocate more, and go through a map in no order. They handle rare operations.
type (
	jsonMap  map[string]any
	jsonList []any
)

var (
	_ traits.Mapper = jsonMap(nil)
	_ traits.Lister = jsonList(nil)
)

func (m jsonMap) general() traits.Mapper {
	return types.NewStringInterfaceMap(adapter{}, map[string]any(m))
}

// Find implements traits.Mapper.
func (m jsonMap) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return m.general().Find(key)
	}
	v, found := m[string(name)]
	if !found {
		return nil, false
	}
	return adapter{}.NativeToValue(v), true
}

// Iterator implements traits.Iterable, in the order of the keys.
func (m jsonMap) Iterator() traits.Iterator {
	return types.NewStringList(adapter{}, slices.Sorted(maps.Keys(m))).Iterator()
}

// The rest of traits.Mapper:

func (m jsonMap) Contains(key ref.Val) ref.Val                { return m.general().Contains(key) }
func (m jsonMap) ConvertToNative(t reflect.Type) (any, error) { return m.general().ConvertToNative(t) }
func (m jsonMap) ConvertToType(t ref.Type) ref.Val            { return m.general().ConvertToType(t) }
func (m jsonMap) Equal(other ref.Val) ref.Val                 { return m.general().Equal(other) }
func (m jsonMap) Get(key ref.Val) ref.Val                     { return m.general().Get(key) }
func (m jsonMap) Size() ref.Val                               { return types.Int(len(m)) }
func (m jsonMap) Type() ref.Type                              { return types.MapType }
func (m jsonMap) Value() any                                  { return map[string]any(m) }

func (l jsonList) general() traits.Lister { return types.NewDynamicList(adapter{}, []any(l)) }

// Iterator implements traits.Iterable.
func (l jsonList) Iterator() traits.Iterator { return &listIterator{list: l} }

// The rest of traits.Lister:

func (l jsonList) Add(other ref.Val) ref.Val                   { return l.general().Add(other) }
func (l jsonList) Contains(v ref.Val) ref.Val                  { return l.general().Contains(v) }
func (l jsonList) ConvertToNative(t reflect.Type) (any, error) { return l.general().ConvertToNative(t) }
func (l jsonList) ConvertToType(t ref.Type) ref.Val            { return l.general().ConvertToType(t) }
func (l jsonList) Equal(other ref.Val) ref.Val                 { return l.general().Equal(other) }
func (l jsonList) Get(index ref.Val) ref.Val                   { return l.general().Get(index) }
func (l jsonList) Size() ref.Val                               { return types.Int(len(l)) }
func (l jsonList) Type() ref.Type                              { return types.ListType }
func (l jsonList) Value() any                                  { return []any(l) }

type listIterator struct {
	ref.Val // of an iterator; no caller uses it
	list    []any
}

// HasNext implements traits.Iterator.
func (it *listIterator) HasNext() ref.Val { return types.Bool(len(it.list) > 0) }

// Next implements traits.Iterator.
func (it *listIterator) Next() ref.Val {
	v := it.list[0]
	it.list = it.list[1:]
	return adapter{}.NativeToValue(v)
}
