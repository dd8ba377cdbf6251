package memory

import (
	"hash/maphash"
	"math"
	"reflect"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// A pool lets objects that are created share what they have in common: the Pods of a workload have the same containers, labels and owners. It
// remembers the last maps, lists and strings of many contents, by hash. What is in it never changes.
//
// A pool changes no result, only how much memory the store takes: less than half of it for Pods that differ in their names alone. What
// patches say is not looked up, because it is mostly new: times and addresses.
type pool struct {
	seed  maphash.Seed
	slots []any // nil until something is put there
	texts []any
}

const (
	poolSlots = 1 << 12

	// poolDepth is how far down the pool looks for something to share, if the spec as a whole is new.
	poolDepth = 3
)

func newPool() pool { return pool{seed: maphash.MakeSeed()} }

// adopt copies the object of a caller, or takes what it has in common with others from the pool. Lists and maps of other Go types become
// []any and map[string]any. Without nulls, members that are null are left out.
func (p *pool) adopt(obj map[string]any, nulls bool) map[string]any {
	p.open()
	a := adoption{p, nulls}
	root := make(map[string]any, len(obj)+1)
	for name, v := range obj {
		metadata, ok := v.(map[string]any)
		switch {
		case ok && name == "metadata": // of its own, because the store writes there
			root[name] = a.fields(metadata, poolDepth)
		case v != nil || nulls:
			root[a.key(name)] = a.value(v, poolDepth)
		}
	}
	return root
}

func (p *pool) open() {
	if p.slots == nil {
		p.slots, p.texts = make([]any, poolSlots), make([]any, poolSlots)
	}
}

// An adoption copies one object.
type adoption struct {
	*pool
	nulls bool // keep members that are null
}

func (a adoption) fields(m map[string]any, depth int) map[string]any {
	out := make(map[string]any, len(m))
	for name, v := range m {
		if v != nil || a.nulls {
			out[a.key(name)] = a.value(v, depth)
		}
	}
	return out
}

func (a adoption) value(v any, depth int) any {
	if text, ok := v.(string); ok {
		return a.text(text, v)
	}
	if isScalar(v) || depth == 0 {
		return a.parts(v, 0)
	}
	at, ok := a.place(v)
	if !ok {
		return a.parts(v, depth-1)
	}
	if !identical(a.slots[at], v) {
		a.slots[at] = a.parts(v, depth-1)
	}
	return a.slots[at]
}

// parts copies a value that is not in the pool; parts of it may be.
func (a adoption) parts(v any, depth int) any {
	if m, ok := object.ToMap(v); ok && m != nil {
		return a.fields(m, depth)
	}
	list, ok := object.ToSlice(v)
	if !ok || list == nil {
		return v
	}
	out := make([]any, len(list))
	for i, item := range list {
		out[i] = a.value(item, depth)
	}
	return out
}

// key returns a name as the pool has it.
func (a adoption) key(name string) string {
	known, _ := a.text(name, nil).(string)
	return known
}

// text returns a string of the pool; boxed is the same string as a value, or nil.
func (a adoption) text(s string, boxed any) any {
	at := maphash.String(a.seed, s) % poolSlots
	if found, ok := a.texts[at].(string); ok && found == s {
		return a.texts[at]
	}
	if boxed == nil {
		boxed = s
	}
	a.texts[at] = boxed
	return boxed
}

// place is the slot of a value. It is false for what the pool does not hold: values with nulls or of types that JSON does not make.
func (p *pool) place(v any) (int, bool) {
	h, ok := p.hash(v)
	return int(h % poolSlots), ok
}

func (p *pool) hash(v any) (uint64, bool) {
	switch v := v.(type) {
	case string:
		return maphash.String(p.seed, v), true
	case bool:
		if v {
			return 1, true
		}
		return 2, true
	case int64:
		return mix(uint64(v)), true
	case float64:
		return mix(math.Float64bits(v)), v == v
	case map[string]any:
		return p.hashMap(v)
	case []any:
		return p.hashList(v)
	default:
		return 0, false
	}
}

// hashMap does not depend on the order of the members.
func (p *pool) hashMap(m map[string]any) (uint64, bool) {
	sum := uint64(len(m))
	for name, v := range m {
		h, ok := p.hash(v)
		if !ok {
			return 0, false
		}
		sum += mix(h + maphash.String(p.seed, name))
	}
	return mix(sum), m != nil
}

func (p *pool) hashList(list []any) (uint64, bool) {
	sum := uint64(len(list))
	for _, v := range list {
		h, ok := p.hash(v)
		if !ok {
			return 0, false
		}
		sum = mix(sum + h)
	}
	return mix(sum + 1), list != nil
}

// mix is a step of splitmix64.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	return z ^ (z >> 27)
}

// identical is true for equal values of equal types: unlike [patch.Equal] it tells 1 from 1.0, because one takes the place of the other.
func identical(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && identicalMaps(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && identicalLists(a, b)
	case float64:
		b, ok := b.(float64)
		return ok && math.Float64bits(a) == math.Float64bits(b)
	case string, bool, int64:
		return a == b
	default:
		return false
	}
}

func identicalMaps(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	for name, v := range a {
		if w, ok := b[name]; !ok || !identical(v, w) {
			return false
		}
	}
	return true
}

func identicalLists(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !identical(a[i], b[i]) {
			return false
		}
	}
	return true
}

func isScalar(v any) bool {
	switch v.(type) {
	case string, bool, int64, float64, nil:
		return true
	}
	return false
}

// same reports whether two maps are one.
func same(a, b map[string]any) bool {
	return reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
}

// sameValue reports whether two values are one map or one list.
func sameValue(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && same(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
	}
	return false
}
