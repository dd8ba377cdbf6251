package codec

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A shape is how the values of a Go type are written, in protobuf and in JSON, as the tags of its fields say.
type shape struct {
	fields []*field // by number; nil where there is none
	always []*field // those that JSON has when protobuf has not
}

func (s *shape) field(n protowire.Number) *field {
	if int(n) < len(s.fields) {
		return s.fields[n]
	}
	return nil
}

// A field is a member of an object.
type field struct {
	name    string // in JSON
	bit     uint64 // of its own among those of the shape
	many    many
	value   value
	inline  bool    // its members are those of the object that it is in
	omit    bool    // JSON does not have it when it is zero
	missing absence // what JSON has when protobuf has nothing
}

// many says how many values a field has.
type many uint8

const (
	one    many = iota
	list        // any number
	byName      // any number, by their names: a map
)

// absence is what JSON has instead of nothing.
type absence uint8

const (
	nothing absence = iota
	null
	zero // what is read of nothing: an empty string, an object with the members that it always has
)

// A value is how one value is written.
type value struct {
	wire  protowire.Type
	read  func(*decoder, written, Fields) (any, bool)
	parts *shape // of an object
}

// Shapes are how the objects of some kinds are written. They are found out as they are asked for.
type Shapes struct {
	types map[schema.GroupVersionKind]reflect.Type
	mu    sync.Mutex
	kinds map[schema.GroupVersionKind]*kind
	said  map[string]*kind // by how envelopes say them
	made  map[reflect.Type]*shape
}

// A kind is what an envelope says that it holds.
type kind struct {
	gvk           schema.GroupVersionKind
	version, name any    // in JSON
	shape         *shape // nil if it is not known
}

// NewShapes returns the shapes of the kinds of a scheme.
func NewShapes(scheme *runtime.Scheme) *Shapes {
	return &Shapes{types: scheme.AllKnownTypes(), kinds: map[schema.GroupVersionKind]*kind{}, said: map[string]*kind{}, made: map[reflect.Type]*shape{}}
}

// Has reports whether the objects of a kind can be read from protobuf: the scheme has it, and its type is written in ways that are known here.
func (s *Shapes) Has(gvk schema.GroupVersionKind) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kind(gvk).shape != nil
}

// of returns the kind that an envelope says. It is false for an envelope that is none.
func (s *Shapes) of(said []byte) (*kind, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k, ok := s.said[string(said)]; ok {
		return k, true
	}
	version, ok := find(said, 1)
	name, _ := find(said, 2)
	if !ok || len(name.bytes) == 0 {
		return nil, false
	}
	k := s.kind(schema.FromAPIVersionAndKind(string(version.bytes), string(name.bytes)))
	s.said[string(said)] = k
	return k, true
}

func (s *Shapes) kind(gvk schema.GroupVersionKind) *kind {
	k, ok := s.kinds[gvk]
	if !ok {
		k = &kind{gvk: gvk, version: gvk.GroupVersion().String(), name: gvk.Kind}
		if t, ok := s.types[gvk]; ok {
			k.shape = s.whole(t)
		}
		s.kinds[gvk] = k
	}
	return k
}

// whole returns the shape of a struct, or nil if there is none. Then what was made for it may be in parts.
func (s *Shapes) whole(t reflect.Type) *shape {
	made, err := s.object(t)
	if err != nil {
		clear(s.made)
		return nil
	}
	return made
}

// object returns the shape of a struct. It is there before it is whole, for types that contain themselves.
func (s *Shapes) object(t reflect.Type) (*shape, error) {
	if known, ok := s.made[t]; ok {
		return known, nil
	}
	made := &shape{}
	s.made[t] = made
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Type == reflect.TypeFor[metav1.TypeMeta]() {
			continue // the envelope says it
		}
		if err := s.add(made, f); err != nil {
			return nil, fmt.Errorf("%s.%s: %w", t, f.Name, err)
		}
	}
	return made, nil
}

func (s *Shapes) add(to *shape, f reflect.StructField) error {
	number, err := numberOf(f)
	if err != nil {
		return err
	}
	made, err := s.field(f)
	if err != nil {
		return err
	}
	made.bit = 1 << number
	to.fields = append(to.fields, make([]*field, max(0, number+1-len(to.fields)))...)
	to.fields[number] = made
	if made.missing != nothing {
		to.always = append(to.always, made)
	}
	return nil
}

// numberOf is the number in a tag such as `protobuf:"bytes,1,opt,name=metadata"`.
func numberOf(f reflect.StructField) (int, error) {
	_, rest, _ := strings.Cut(f.Tag.Get("protobuf"), ",")
	text, _, _ := strings.Cut(rest, ",")
	n, err := strconv.Atoi(text)
	if err == nil && n >= 64 {
		err = fmt.Errorf("number %d", n) // there are 64 bits
	}
	return n, err
}

// field returns the field that a field of a struct is.
func (s *Shapes) field(f reflect.StructField) (*field, error) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	has := func(option string) bool { return slices.Contains(strings.Split(options, ","), option) }
	if name == "-" || name == "" && !f.Anonymous {
		return nil, fmt.Errorf("json:%q", f.Tag.Get("json"))
	}
	made := &field{name: name, inline: name == ""}
	var err error
	made.value, made.many, err = s.values(f.Type)
	object := f.Type.Kind() == reflect.Struct
	nullable := f.Type.Kind() == reflect.Pointer || f.Type.Kind() == reflect.Slice || f.Type.Kind() == reflect.Map
	omitted := has("omitzero") || has("omitempty") && !object // an object is never empty
	switch {
	case !omitted && nullable:
		made.missing = null
	case !omitted:
		made.missing = zero
	}
	made.omit = omitted && f.Type.Kind() != reflect.Pointer // one to a zero is none
	return made, err
}

// values returns how the values of a field of some type are written, and how many there are.
func (s *Shapes) values(t reflect.Type) (v value, n many, err error) {
	switch {
	case t.Kind() == reflect.Pointer:
		v, err = s.one(t.Elem())
	case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String:
		n = byName
		v, err = s.one(t.Elem())
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 && !writesItself(t):
		n = list
		v, err = s.one(t.Elem())
	default:
		v, err = s.one(t)
	}
	return v, n, err
}

// one returns how one value of a type is written.
func (s *Shapes) one(t reflect.Type) (value, error) {
	if read, ok := special[t]; ok {
		return value{wire: protowire.BytesType, read: read}, nil
	}
	if writesItself(t) {
		return value{wire: protowire.BytesType, read: generated(t)}, nil
	}
	if t.Kind() == reflect.Struct {
		parts, err := s.object(t)
		read := func(d *decoder, w written, drop Fields) (any, bool) { return d.object(parts, w.bytes, drop) }
		return value{wire: protowire.BytesType, read: read, parts: parts}, err
	}
	if v, ok := scalars[t.Kind()]; ok {
		return v, nil
	}
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
		return value{wire: protowire.BytesType, read: readBytes}, nil
	}
	return value{}, fmt.Errorf("no way to read a %s", t)
}

// writesItself reports whether the tags in a type do not say what its JSON is, or the type has no tags and yet is a message.
func writesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Marshaler]()) || t.Kind() != reflect.Struct && p.Implements(reflect.TypeFor[message]())
}
