package managedfields

import (
	_ "embed" // types.txt
	"encoding/json"
	"maps"
	"strings"
	"sync"

	"github.com/stagecraft-go/stagecraft/internal/object"
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	smdvalue "sigs.k8s.io/structured-merge-diff/v6/value"
)

//go:generate go run -C ../dev/bench ./patch/gentypes ../../../stage/lab/apiserver/openapi.json.gz ../../managedfields/types.txt

// typesText has one line for each type: its name, and the fields that contain objects, or that
// differ from the type deduced from a value.
//
//	core.v1.ContainerPort containerPort=?=0~0 protocol=?~"TCP"
//
// A field is its name and, after =, its type. The type is a name, ? for deduced, or * for replaced
// as a whole. [keys] comes before the type of the elements of a list that merges, and {} before the
// type of the values of a map. After a second = comes the value that objects of the Go type always
// have, and after ~ the default of a key.
//
//go:embed types.txt
var typesText string

// Names of types.
const (
	objectMeta  = "ObjectMeta"
	unknownKind = "v1/ConfigMap"       // a kind with nothing but metadata
	deduced     = "__untyped_deduced_" // maps merge, lists are replaced
	replaced    = "__untyped_atomic_"  // everything is replaced
)

// reference is the type of a value.
type reference struct {
	named    string     // a type, "" for the others
	elements *reference // ... of a list or a map
	isList   bool
	keys     []string
}

type structField struct {
	reference
	name   string
	zero   any // the value of a missing field, if objects always have the field
	always bool
}

type table struct {
	structs map[string][]structField
	shapes  map[string]*shapes // of kinds
	parser  *typed.Parser
}

var builtIns = sync.OnceValue(func() *table {
	t := &table{map[string][]structField{}, map[string]*shapes{}, &typed.Parser{Schema: smd.Schema{Types: []smd.TypeDef{untyped(replaced, replaced, smd.Atomic), untyped(deduced, deduced, smd.Separable)}}}}
	for line := range strings.Lines(typesText) {
		words := strings.Fields(line)
		t.add(words[0], words[1:])
	}
	return t
})

// untyped is a type that a value may have that says nothing else.
func untyped(name, values string, relationship smd.ElementRelationship) smd.TypeDef {
	scalar := smd.Untyped
	return smd.TypeDef{Name: name, Atom: smd.Atom{
		Scalar: &scalar,
		List:   &smd.List{ElementType: named(replaced), ElementRelationship: smd.Atomic},
		Map:    &smd.Map{ElementType: named(values), ElementRelationship: relationship},
	}}
}

func named(name string) smd.TypeRef { return smd.TypeRef{NamedType: &name} }

func (t *table) add(name string, fields []string) {
	if strings.Contains(name, "/") {
		t.shapes[name] = newShapes()
	}
	m := &smd.Map{ElementType: named(deduced), ElementRelationship: smd.Separable}
	for _, text := range fields {
		text, ofKey, _ := strings.Cut(text, "~")
		field, rest, _ := strings.Cut(text, "=")
		ref, zero, always := strings.Cut(rest, "=")
		f := structField{readReference(ref), field, value(zero), always}
		t.structs[name] = append(t.structs[name], f)
		m.Fields = append(m.Fields, smd.StructField{Name: field, Type: f.ref(), Default: value(ofKey)})
	}
	t.parser.Schema.Types = append(t.parser.Schema.Types, smd.TypeDef{Name: name, Atom: smd.Atom{Map: m}})
}

// value reads a JSON value; nil for an empty text.
func value(text string) (v any) {
	if text == "" || json.Unmarshal([]byte(text), &v) != nil {
		return nil
	}
	if n, isNumber := v.(float64); isNumber {
		return int64(n)
	}
	return v
}

func readReference(text string) reference {
	switch {
	case text == "?":
		return reference{named: deduced}
	case text == "*":
		return reference{named: replaced}
	case strings.HasPrefix(text, "{}"):
		elements := readReference(text[2:])
		return reference{elements: &elements}
	case strings.HasPrefix(text, "["):
		keys, element, _ := strings.Cut(text[1:], "]")
		elements := readReference(element)
		return reference{elements: &elements, isList: true, keys: strings.FieldsFunc(keys, func(r rune) bool { return r == ',' })}
	}
	return reference{named: text}
}

func (r reference) ref() smd.TypeRef {
	switch {
	case r.named != "":
		return named(r.named)
	case r.isList:
		return smd.TypeRef{Inlined: smd.Atom{List: &smd.List{ElementType: r.elements.ref(), ElementRelationship: smd.Associative, Keys: r.keys}}}
	}
	return smd.TypeRef{Inlined: smd.Atom{Map: &smd.Map{ElementType: r.elements.ref(), ElementRelationship: smd.Separable}}}
}

// unchecked returns an object as an API server sees it.
func (t Type) unchecked(obj map[string]any) *typed.TypedValue {
	return typed.AsTypedUnvalidated(smdvalue.NewValueInterface(t.complete(obj)), t.Schema, t.TypeRef)
}

// complete returns an object with the fields that an API server adds because its Go types always
// have them.
func (t Type) complete(obj map[string]any) map[string]any {
	if t.root.named == "" {
		return obj
	}
	out, _ := object.ToMap(builtIns().complete(t.root, obj))
	return out
}

func (t *table) complete(r reference, v any) any {
	switch v := v.(type) {
	case map[string]any:
		if r.named == "" && !r.isList && r.elements != nil {
			v = maps.Clone(v)
			for key, e := range v {
				v[key] = t.complete(*r.elements, e)
			}
			return v
		}
		return t.completeStruct(t.structs[r.named], v)
	case []any:
		if !r.isList || len(t.structs[r.elements.named]) == 0 {
			return v
		}
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = t.complete(*r.elements, e)
		}
		return out
	}
	return v
}

func (t *table) completeStruct(fields []structField, m map[string]any) map[string]any {
	if len(fields) == 0 {
		return m
	}
	out := maps.Clone(m)
	if out == nil {
		out = map[string]any{} // an object that does not exist yet
	}
	for _, f := range fields {
		v, given := m[f.name]
		if !given && !f.always {
			continue
		}
		if v == nil {
			v = f.zero
		}
		out[f.name] = t.complete(f.reference, v)
	}
	return out
}
