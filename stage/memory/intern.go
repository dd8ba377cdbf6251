package memory

import (
	"hash/maphash"
	"math"
	"reflect"
	"sync"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// An interner makes new objects share equal parts: the Pods of a workload have the same containers,
// labels and owners. It has two hash tables, one for maps and lists, and one for strings. Both are
// small for the first objects. A new value replaces the value at its place in the table. Values in
// the tables never change. No value in them is large, since nothing forgets them.
//
// An interner changes no result. It only saves memory: Pods that differ only in their names take
// less than half. The values of patches are not looked up, because most of them are new, such as
// times and addresses.
type interner struct {
	mu    sync.Mutex // for the tables; the lock of the store is not needed
	seed  maphash.Seed
	parts []any // maps and lists; nil before the first object
	texts []any // strings
	seen  int   // objects
}

const (
	internSlots = 1 << 12
	fewSlots    = 1 << 8 // the size for the first objects, up to this number

	// internDepth is the depth to which the interner looks for shared parts of a new spec.
	internDepth = 3

	largestText = 4 << 10 // bytes of a string in the table
	largestPart = 8 << 10 // and of a map or list: those of its strings, and perValue for each value
	perValue    = 32
)

func newInterner() *interner { return &interner{seed: maphash.MakeSeed()} }

// interned copies the object of a caller without the lock of the store.
func (r *request) interned(obj map[string]any) (root map[string]any, err error) {
	interner, nulls := r.interner, !r.kind.builtin
	err = r.unlocked(func() error {
		root = interner.intern(obj, nulls)
		return nil
	})
	return root, err
}

// intern copies the object of a caller, and shares the parts that are in the tables. Lists and maps
// of other Go types become []any and map[string]any. If nulls is false, null members are left out.
func (p *interner) intern(obj map[string]any, nulls bool) map[string]any {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.allocate()
	a := interning{p, nulls}
	root := make(map[string]any, len(obj)+1)
	for name, v := range obj {
		metadata, ok := v.(map[string]any)
		switch {
		case ok && name == "metadata": // never shared, because the store writes there
			root[name] = a.fields(metadata, internDepth)
		case v != nil || nulls:
			root[a.key(name)] = a.value(v, internDepth)
		}
	}
	return root
}

func (p *interner) allocate() {
	slots := len(p.parts)
	switch p.seen++; p.seen {
	case 1:
		slots = fewSlots
	case fewSlots:
		slots = internSlots
	}
	if slots != len(p.parts) {
		p.parts, p.texts = make([]any, slots), make([]any, slots)
	}
}

// An interning copies one object.
type interning struct {
	*interner
	nulls bool // keep members that are null
}

func (a interning) fields(m map[string]any, depth int) map[string]any {
	out := make(map[string]any, len(m))
	for name, v := range m {
		if v != nil || a.nulls {
			out[a.key(name)] = a.value(v, depth)
		}
	}
	return out
}

func (a interning) value(v any, depth int) any {
	if text, ok := v.(string); ok {
		return a.text(text, v)
	}
	if isScalar(v) || depth == 0 {
		return a.copy(v, 0)
	}
	at, ok := a.place(v)
	if !ok {
		return a.copy(v, depth-1)
	}
	if !identical(a.parts[at], v) {
		a.parts[at] = a.copy(v, depth-1)
	}
	return a.parts[at]
}

// copy copies a value that is not in the tables. Its parts can be in the tables.
func (a interning) copy(v any, depth int) any {
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

// key returns the string of the table.
func (a interning) key(name string) string {
	known, _ := a.text(name, nil).(string)
	return known
}

// text returns the string of the table as an any; boxed is s as an any, or nil.
func (a interning) text(s string, boxed any) any {
	if len(s) > largestText {
		if boxed == nil {
			return s
		}
		return boxed
	}
	at := maphash.String(a.seed, s) % uint64(len(a.texts))
	if found, ok := a.texts[at].(string); ok && found == s {
		return a.texts[at]
	}
	if boxed == nil {
		boxed = s
	}
	a.texts[at] = boxed
	return boxed
}

// place returns the place of a value in the table. It returns false for values that are not
// interned: large ones, values with nulls, or with types that JSON does not have.
func (p *interner) place(v any) (int, bool) {
	h := hashing{p.seed, largestPart}
	sum, ok := h.hash(v)
	return int(sum % uint64(len(p.parts))), ok
}

// A hashing computes the hash of a value, as long as there is room.
type hashing struct {
	seed maphash.Seed
	room int // bytes
}

func (h *hashing) hash(v any) (uint64, bool) {
	if h.room -= perValue; h.room < 0 {
		return 0, false
	}
	switch v := v.(type) {
	case string:
		if h.room -= len(v); h.room < 0 {
			return 0, false
		}
		return maphash.String(h.seed, v), true
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
		return h.hashMap(v)
	case []any:
		return h.hashList(v)
	default:
		return 0, false
	}
}

// hashMap does not depend on the order of the members.
func (h *hashing) hashMap(m map[string]any) (uint64, bool) {
	sum := uint64(len(m))
	for name, v := range m {
		h.room -= len(name)
		of, ok := h.hash(v)
		if !ok {
			return 0, false
		}
		sum += mix(of + maphash.String(h.seed, name))
	}
	return mix(sum), m != nil
}

func (h *hashing) hashList(list []any) (uint64, bool) {
	sum := uint64(len(list))
	for _, v := range list {
		of, ok := h.hash(v)
		if !ok {
			return 0, false
		}
		sum = mix(sum + of)
	}
	return mix(sum + 1), list != nil
}

// mix is a step of splitmix64.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	return z ^ (z >> 27)
}

// identical reports whether two values are equal and of equal types. Unlike [patch.Equal] it
// distinguishes 1 from 1.0, because an interned value replaces the other.
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

// same reports whether two maps are the same map in memory.
func same(a, b map[string]any) bool {
	return reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
}

// sameValue reports whether two values are the same map or list in memory.
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
