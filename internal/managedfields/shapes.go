package managedfields

import (
	"hash/maphash"
	"sync"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// shapes remembers the fields of new objects of a type. To compare a new object with an empty one
// takes most of the time of its creation. The result depends only on the shape of the object, which
// the Pods of a workload share, so they share the result. A new shape replaces the shape at its
// place.
type shapes struct {
	mu    sync.Mutex
	seed  maphash.Seed
	known [64]shaped
}

type shaped struct {
	of     map[string]any // an object of the shape, whose texts outside lists are empty
	status bool           // the status is among the fields
	fields map[string]any // in the form FieldsV1
}

func newShapes() *shapes { return &shapes{seed: maphash.MakeSeed()} }

func (s *shapes) place(obj map[string]any) *shaped {
	return &s.known[s.hash(obj, false)%uint64(len(s.known))]
}

// find returns the fields of a new object, nil if no object of its shape is known.
func (s *shapes) find(obj map[string]any, status bool) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.place(obj); known.fields != nil && known.status == status && sameShape(known.of, obj) {
		return known.fields
	}
	return nil
}

// add remembers the fields, which must not change afterwards, unless the shape is large.
func (s *shapes) add(obj map[string]any, status bool, fields map[string]any) {
	c := skeleton{room: largestShape}
	of, _ := c.copy(obj, false).(map[string]any)
	if c.room < 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	*s.place(obj) = shaped{of, status, fields}
}

// largestShape is the size up to which a shape is remembered: of each type 64 are kept as
// long as the type. A Pod with ten containers has about half of it.
const largestShape = 32 << 10

// A skeleton copies what the shape of an object depends on, as long as there is room.
type skeleton struct{ room int }

// perValue is the least size of a value.
const perValue = 32

func (c *skeleton) copy(v any, inList bool) any {
	if c.room -= perValue; c.room < 0 {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		return c.copyMap(v, inList)
	case []any:
		return c.copyList(v)
	case string:
		if !inList {
			return ""
		}
		c.room -= len(v)
	}
	return v
}

func (c *skeleton) copyMap(m map[string]any, inList bool) any {
	if m == nil {
		return m
	}
	out := map[string]any{}
	for name, v := range m {
		if c.room -= len(name); c.room < 0 {
			break
		}
		out[name] = c.copy(v, inList)
	}
	return out
}

func (c *skeleton) copyList(list []any) any {
	if list == nil {
		return list
	}
	out := make([]any, 0, min(len(list), c.room/perValue))
	for _, v := range list {
		if c.room < 0 {
			break
		}
		out = append(out, c.copy(v, true))
	}
	return out
}

// hash is equal for objects of one shape.
func (s *shapes) hash(v any, inList bool) (sum uint64) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			sum += maphash.String(s.seed, name) * (3 + s.hash(member, inList)) // in any order
		}
	case []any:
		for _, element := range v {
			sum = sum*31 + s.hash(element, true)
		}
	case string:
		if inList {
			return maphash.String(s.seed, v)
		}
	}
	return sum
}

// sameShape reports whether two values have the same fields. The content of lists, which can be
// keys, must be equal. Elsewhere maps must have the same members with the same types.
func sameShape(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && sameMembers(a, b)
	case string:
		_, ok := b.(string)
		return ok
	case bool:
		_, ok := b.(bool)
		return ok
	case int64:
		_, ok := b.(int64)
		return ok
	}
	return object.DeepEqual(a, b)
}

func sameMembers(a, b map[string]any) bool {
	if len(a) != len(b) || (a == nil) != (b == nil) {
		return false
	}
	for name, v := range a {
		if w, ok := b[name]; !ok || !sameShape(v, w) {
			return false
		}
	}
	return true
}
