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

// A messageSchema describes how the values of a Go struct are written, in protobuf and in JSON. It
// is made from the tags of the struct.
type messageSchema struct {
	fields []*field // by number; nil where a number has no field
	always []*field // fields that JSON writes even if protobuf has no value for them
}

func (s *messageSchema) field(n protowire.Number) *field {
	if int(n) < len(s.fields) {
		return s.fields[n]
	}
	return nil
}

// A field is a field of a message, and a member of a JSON object.
type field struct {
	name        string // in JSON
	bit         uint64 // one of 64 that is this field's alone within its message
	cardinality cardinality
	value       valueSchema
	inline      bool    // embedded: its members are members of the outer object
	omitZero    bool    // JSON omits it when it is zero
	missing     missing // what JSON writes if protobuf has no value
}

// cardinality says how many values a field has.
type cardinality uint8

const (
	single   cardinality = iota
	repeated             // any number, a list
	mapped               // any number, by key
)

// missing is what JSON writes for a field that has no value in protobuf.
type missing uint8

const (
	omitted missing = iota
	asNull
	asZero // the zero value, such as "" or an object with the members that it always has
)

// A valueSchema says how one value is written.
type valueSchema struct {
	wire    protowire.Type
	read    func(*decoder, wireValue, Fields) (any, bool)
	message *messageSchema // of an object; else nil
}

// Schemas are the schemas of the kinds of a scheme. Each is made when it is first asked for. It is
// safe for concurrent use.
type Schemas struct {
	types      map[schema.GroupVersionKind]reflect.Type
	mu         sync.Mutex
	refused    map[schema.GroupVersionKind]bool // kinds with a message that could not be read
	kinds      map[schema.GroupVersionKind]*kind
	byEnvelope map[string]*kind // by the bytes that say the type in an envelope
	messages   map[reflect.Type]*messageSchema
}

// A kind is the type of the message in an envelope.
type kind struct {
	gvk           schema.GroupVersionKind
	version, name any            // as values of JSON
	message       *messageSchema // nil: the kind cannot be read
}

// NewSchemas returns the schemas of the kinds of a scheme.
func NewSchemas(scheme *runtime.Scheme) *Schemas {
	return &Schemas{
		types:      scheme.AllKnownTypes(),
		refused:    map[schema.GroupVersionKind]bool{},
		kinds:      map[schema.GroupVersionKind]*kind{},
		byEnvelope: map[string]*kind{},
		messages:   map[reflect.Type]*messageSchema{},
	}
}

// Has reports whether to ask for protobuf for a kind. The scheme must have the kind, the reader
// must support the types of all its fields, and no message of the kind was found unreadable.
func (s *Schemas) Has(gvk schema.GroupVersionKind) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.refused[gvk] && s.kind(gvk).message != nil
}

// refuse records that a message of a kind, or of its list, could not be read.
func (s *Schemas) refuse(gvk schema.GroupVersionKind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused[gvk] = true
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	s.refused[gvk] = true
}

// of returns the kind that an envelope names. It returns false for bytes that are not a type.
func (s *Schemas) of(typeMeta []byte) (*kind, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k, ok := s.byEnvelope[string(typeMeta)]; ok {
		return k, true
	}
	version, ok := lastValue(typeMeta, 1)
	name, _ := lastValue(typeMeta, 2)
	if !ok || len(name.bytes) == 0 {
		return nil, false
	}
	k := s.kind(schema.FromAPIVersionAndKind(string(version.bytes), string(name.bytes)))
	s.byEnvelope[string(typeMeta)] = k
	return k, true
}

func (s *Schemas) kind(gvk schema.GroupVersionKind) *kind {
	k, ok := s.kinds[gvk]
	if !ok {
		k = &kind{gvk: gvk, version: gvk.GroupVersion().String(), name: gvk.Kind}
		if t, ok := s.types[gvk]; ok {
			k.message = s.complete(t)
		}
		s.kinds[gvk] = k
	}
	return k
}

// complete returns the schema of a struct, or nil if a field of it cannot be read. In that case it
// drops the schemas that were made for its fields, because they may be incomplete.
func (s *Schemas) complete(t reflect.Type) *messageSchema {
	m, err := s.object(t)
	if err != nil {
		clear(s.messages)
		return nil
	}
	return m
}

// object returns the schema of a struct. It is in the table before it is complete, for types that
// contain themselves.
func (s *Schemas) object(t reflect.Type) (*messageSchema, error) {
	if known, ok := s.messages[t]; ok {
		return known, nil
	}
	m := &messageSchema{}
	s.messages[t] = m
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Type == reflect.TypeFor[metav1.TypeMeta]() {
			continue // the envelope says it
		}
		if err := s.add(m, f); err != nil {
			return nil, fmt.Errorf("%s.%s: %w", t, f.Name, err)
		}
	}
	return m, nil
}

func (s *Schemas) add(to *messageSchema, f reflect.StructField) error {
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
	if made.missing != omitted {
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

// field returns the schema of a field of a struct.
func (s *Schemas) field(f reflect.StructField) (*field, error) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	has := func(option string) bool { return slices.Contains(strings.Split(options, ","), option) }
	if name == "-" || name == "" && !f.Anonymous {
		return nil, fmt.Errorf("json:%q", f.Tag.Get("json"))
	}
	made := &field{name: name, inline: name == ""}
	var err error
	made.value, made.cardinality, err = s.values(f.Type)
	object := f.Type.Kind() == reflect.Struct
	nullable := f.Type.Kind() == reflect.Pointer || f.Type.Kind() == reflect.Slice || f.Type.Kind() == reflect.Map
	omits := has("omitzero") || has("omitempty") && !object // an object is never empty
	switch {
	case !omits && nullable:
		made.missing = asNull
	case object && has("omitempty"):
		// A server that has the field writes it always: one that does not is older than these types.
	case !omits:
		made.missing = asZero
	}
	made.omitZero = omits && f.Type.Kind() != reflect.Pointer // a pointer to a zero value is not zero
	return made, err
}

// values returns how the values of a field of some type are written, and how many there are.
func (s *Schemas) values(t reflect.Type) (v valueSchema, n cardinality, err error) {
	switch {
	case t.Kind() == reflect.Pointer:
		v, err = s.value(t.Elem())
	case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String:
		n = mapped
		v, err = s.value(t.Elem())
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 && !writesItself(t):
		n = repeated
		v, err = s.value(t.Elem())
	default:
		v, err = s.value(t)
	}
	return v, n, err
}

// value returns how one value of a type is written.
func (s *Schemas) value(t reflect.Type) (valueSchema, error) {
	if read, ok := directReaders[t]; ok {
		return valueSchema{wire: protowire.BytesType, read: read}, nil
	}
	if writesItself(t) {
		return valueSchema{wire: protowire.BytesType, read: throughGoType(t)}, nil
	}
	if t.Kind() == reflect.Struct {
		m, err := s.object(t)
		read := func(d *decoder, w wireValue, drop Fields) (any, bool) { return d.object(m, w.bytes, drop) }
		return valueSchema{wire: protowire.BytesType, read: read, message: m}, err
	}
	if v, ok := scalars[t.Kind()]; ok {
		return v, nil
	}
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
		return valueSchema{wire: protowire.BytesType, read: readBytes}, nil
	}
	return valueSchema{}, fmt.Errorf("no way to read a %s", t)
}

// writesItself reports whether the tags of a type do not describe its encoding: it has its own
// method for JSON, or it is not a struct and has its own method for protobuf.
func writesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Marshaler]()) ||
		t.Kind() != reflect.Struct && p.Implements(reflect.TypeFor[unmarshaler]())
}
