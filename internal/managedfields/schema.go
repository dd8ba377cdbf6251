package managedfields

import (
	"slices"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"k8s.io/apimachinery/pkg/runtime/schema"
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// A Type says how the fields of a kind merge, and which fields its objects always have.
type Type struct {
	typed.ParseableType
	root   reference
	shapes *shapes
}

// BuiltIn returns the type of a built-in kind of Kubernetes 1.36. For any other kind only metadata
// has a type. Other fields are deduced from their values: maps merge, and lists are replaced.
func BuiltIn(kind schema.GroupVersionKind) Type {
	t, name := builtIns(), kind.GroupVersion().String()+"/"+kind.Kind
	if _, known := t.structs[name]; !known {
		name = unknownKind
	}
	return Type{t.parser.Type(name), reference{named: name}, t.shapes[name]}
}

// Defined returns the type of a kind with the OpenAPI schema of a CustomResourceDefinition. Fields
// that the schema does not have are deduced from their values.
func Defined(openapi map[string]any) Type {
	root := mapOf(openapi)
	root.Map.Fields = withMetadata(root.Map.Fields)
	all := slices.Clone(builtIns().parser.Schema.Types)
	all = append(all, smd.TypeDef{Name: "defined", Atom: root})
	return Type{ParseableType: (&typed.Parser{Schema: smd.Schema{Types: all}}).Type("defined"), shapes: newShapes()}
}

// withMetadata returns fields in which metadata is the metadata of an object.
func withMetadata(fields []smd.StructField) []smd.StructField {
	fields = slices.DeleteFunc(fields, func(f smd.StructField) bool { return f.Name == "metadata" })
	return append(fields, smd.StructField{Name: "metadata", Type: named(objectMeta)})
}

// refOf returns the type of a value with a schema.
func refOf(s map[string]any) smd.TypeRef {
	anyNumber, _ := object.Bool(s, "x-kubernetes-int-or-string")
	switch kind, _ := object.String(s, "type"); {
	case kind == "array":
		return smd.TypeRef{Inlined: listOf(s)}
	case kind == "object" && !anyNumber:
		return smd.TypeRef{Inlined: mapOf(s)}
	}
	return named(deduced)
}

func listOf(s map[string]any) smd.Atom {
	items, _ := object.Map(s, "items")
	list := &smd.List{ElementType: refOf(items), ElementRelationship: smd.Atomic}
	switch kind, _ := object.String(s, "x-kubernetes-list-type"); kind {
	case "map":
		list.Keys, _ = object.Strings(s, "x-kubernetes-list-map-keys")
		list.ElementRelationship = smd.Associative
	case "set":
		list.ElementRelationship = smd.Associative
	}
	return smd.Atom{List: list}
}

func mapOf(s map[string]any) smd.Atom {
	m := &smd.Map{ElementType: named(deduced), ElementRelationship: smd.Separable}
	if kind, _ := object.String(s, "x-kubernetes-map-type"); kind == "atomic" {
		m.ElementRelationship = smd.Atomic
	}
	if values, ok := object.Map(s, "additionalProperties"); ok {
		m.ElementType = refOf(values)
	}
	properties, _ := object.Map(s, "properties")
	for name, v := range properties {
		property, _ := object.ToMap(v)
		m.Fields = append(m.Fields, smd.StructField{Name: name, Type: refOf(property), Default: property["default"]})
	}
	if embedded, _ := object.Bool(s, "x-kubernetes-embedded-resource"); embedded {
		m.Fields = withMetadata(m.Fields)
	}
	return smd.Atom{Map: m}
}
