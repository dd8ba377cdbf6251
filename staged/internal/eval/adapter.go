package eval

import (
	"maps"
	"reflect"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// adapter differs from CEL's own in that maps and lists cost little to wrap, and maps are iterated in the order of their keys.
type adapter struct{ types.Adapter }

// values is the only adapter.
var values = adapter{types.DefaultTypeAdapter}

// NativeToValue implements types.Adapter.
func (a adapter) NativeToValue(v any) ref.Val {
	switch x := v.(type) {
	case map[string]any:
		return fields(x)
	case []any:
		return elements(x)
	}
	return a.Adapter.NativeToValue(v)
}

// fields is an object as CEL sees it.
type fields map[string]any

var _ traits.Mapper = fields{}

// general is the same as CEL's own map, for what is rare.
func (f fields) general() traits.Mapper { return types.NewStringInterfaceMap(values, f) }

// Find implements traits.Mapper.
func (f fields) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return f.general().Find(key)
	}
	v, ok := f[string(name)]
	if !ok {
		return nil, false
	}
	return values.NativeToValue(v), true
}

// Get implements traits.Indexer.
func (f fields) Get(key ref.Val) ref.Val {
	if v, ok := f.Find(key); ok {
		return v
	}
	return f.general().Get(key) // the error
}

// Contains implements traits.Container.
func (f fields) Contains(key ref.Val) ref.Val { return f.general().Contains(key) }

// Iterator implements traits.Iterable.
func (f fields) Iterator() traits.Iterator {
	return types.NewStringList(values, slices.Sorted(maps.Keys(f))).Iterator()
}

// Size implements traits.Sizer.
func (f fields) Size() ref.Val { return types.Int(len(f)) }

// Equal implements ref.Val.
func (f fields) Equal(other ref.Val) ref.Val { return f.general().Equal(other) }

// ConvertToNative implements ref.Val.
func (f fields) ConvertToNative(t reflect.Type) (any, error) { return f.general().ConvertToNative(t) }

// ConvertToType implements ref.Val.
func (f fields) ConvertToType(t ref.Type) ref.Val { return f.general().ConvertToType(t) }

// Type implements ref.Val.
func (f fields) Type() ref.Type { return types.MapType }

// Value implements ref.Val.
func (f fields) Value() any { return map[string]any(f) }

// elements is a list as CEL sees it.
type elements []any

var _ traits.Lister = elements{}

// general is the same as CEL's own list, for what is rare.
func (e elements) general() traits.Lister { return types.NewDynamicList(values, []any(e)) }

// Iterator implements traits.Iterable.
func (e elements) Iterator() traits.Iterator { return &walk{rest: e} }

// Size implements traits.Sizer.
func (e elements) Size() ref.Val { return types.Int(len(e)) }

// Get implements traits.Indexer.
func (e elements) Get(index ref.Val) ref.Val {
	if i, ok := index.(types.Int); ok && i >= 0 && int(i) < len(e) {
		return values.NativeToValue(e[i])
	}
	return e.general().Get(index)
}

// Add implements traits.Adder.
func (e elements) Add(other ref.Val) ref.Val { return e.general().Add(other) }

// Contains implements traits.Container.
func (e elements) Contains(value ref.Val) ref.Val { return e.general().Contains(value) }

// Equal implements ref.Val.
func (e elements) Equal(other ref.Val) ref.Val { return e.general().Equal(other) }

// ConvertToNative implements ref.Val.
func (e elements) ConvertToNative(t reflect.Type) (any, error) { return e.general().ConvertToNative(t) }

// ConvertToType implements ref.Val.
func (e elements) ConvertToType(t ref.Type) ref.Val { return e.general().ConvertToType(t) }

// Type implements ref.Val.
func (e elements) Type() ref.Type { return types.ListType }

// Value implements ref.Val.
func (e elements) Value() any { return []any(e) }

// walk iterates over elements. As a value it is nothing that an expression could hold.
type walk struct {
	traits.Iterator
	rest elements
}

// HasNext implements traits.Iterator.
func (w *walk) HasNext() ref.Val { return types.Bool(len(w.rest) > 0) }

// Next implements traits.Iterator.
func (w *walk) Next() ref.Val {
	if len(w.rest) == 0 {
		return nil
	}
	v := w.rest[0]
	w.rest = w.rest[1:]
	return values.NativeToValue(v)
}
