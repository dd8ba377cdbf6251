package builtin

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Fill returns an object of a built-in kind with the fields that kube-apiserver 1.36 fills in. It
// does not change the object; the result shares the unchanged parts with it. Fill returns objects
// of other kinds as they are. It treats parts that are also in before, which may be nil, as
// complete.
func Fill(obj, before map[string]any) map[string]any {
	d := load()
	t := d.Types[d.Kinds[text(obj["apiVersion"])+" "+text(obj["kind"])]]
	if t == nil {
		return obj
	}
	return t.fill(obj, before)
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// link prepares the types for use.
func (d *Data) link() {
	for name, t := range d.Types {
		goName, _, _ := strings.Cut(name, "/")
		t.computed, t.finish = computed[goName], finished[goName]
		for field, c := range t.Fields {
			t.children = append(t.children, child{field, c.Form, conditions[goName+"."+field], d.Types[c.Type]})
		}
		t.order = slices.Sorted(maps.Keys(t.computed))
		for _, field := range slices.Sorted(maps.Keys(t.Set)) {
			if t.computed[field] == nil {
				t.order = append(t.order, field)
			}
		}
	}
}

// fill returns an object of the type with its defaults.
func (t *Type) fill(obj, before map[string]any) map[string]any {
	if before != nil && Same(obj, before) {
		return obj
	}
	c := &copied{from: obj, before: before}
	if t.finish != nil {
		t.finish(c)
	}
	for _, name := range t.order {
		if v := t.missing(c.now(), name); v != nil {
			c.set(name, v)
		}
	}
	for _, f := range t.children {
		old, is := c.now()[f.name]
		if !is || f.when != nil && !f.when(c.now()) {
			continue
		}
		if next := f.within(old, before[f.name]); !sameValue(old, next) {
			c.set(f.name, next)
		}
	}
	return c.now()
}

// missing returns the value to fill in for a field, or nil if the field stays missing.
func (t *Type) missing(obj map[string]any, name string) any {
	if v, is := obj[name]; is && !(isZero(v) && (zeroIsMissing[name] || slices.Contains(t.Zero, name))) {
		return nil
	}
	if f := t.computed[name]; f != nil {
		return f(obj, t.Set[name])
	}
	return t.Set[name]
}

func isZero(v any) bool { return v == "" || v == int64(0) }

// within fills in the objects of the type in a field.
func (f child) within(v, before any) any {
	switch f.form {
	case Struct:
		if m, is := v.(map[string]any); is {
			old, _ := before.(map[string]any)
			return f.fill(m, old)
		}
	case List:
		if l, is := v.([]any); is {
			return f.list(l, before)
		}
	case Map:
		if m, is := v.(map[string]any); is {
			return f.values(m)
		}
	}
	return v
}

func (f child) list(l []any, before any) []any {
	if old, is := before.([]any); is && sameValue(l, old) {
		return l
	}
	var next []any
	for i, v := range l {
		m, is := v.(map[string]any)
		if !is {
			continue
		}
		if filled := f.fill(m, nil); !Same(m, filled) {
			if next == nil {
				next = slices.Clone(l)
			}
			next[i] = filled
		}
	}
	if next == nil {
		return l
	}
	return next
}

func (f child) values(m map[string]any) map[string]any {
	c := &copied{from: m}
	for key, v := range m {
		if value, is := v.(map[string]any); is {
			if filled := f.fill(value, nil); !Same(value, filled) {
				c.set(key, filled)
			}
		}
	}
	return c.now()
}

// A copied map is copied when it is changed for the first time.
type copied struct {
	from, to map[string]any
	before   map[string]any // the stored object; nil if the object is new
}

func (c *copied) now() map[string]any {
	if c.to != nil {
		return c.to
	}
	return c.from
}

// own returns the map to be changed.
func (c *copied) own() map[string]any {
	if c.to == nil {
		c.to = maps.Clone(c.from)
	}
	return c.to
}

func (c *copied) set(name string, v any) { c.own()[name] = v }

// Same reports whether two maps are one.
func Same(a, b map[string]any) bool {
	return reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
}

// sameValue reports whether two maps or lists are one.
func sameValue(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, is := b.(map[string]any)
		return is && Same(a, b)
	case []any:
		b, is := b.([]any)
		return is && len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
	}
	return false
}
