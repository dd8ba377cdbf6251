// Gentypes writes the types of package managedfields, from the OpenAPI of kube-apiserver as it was
// recorded, and from the Go types of k8s.io/api. Its arguments are the recording and the file to write.
//
// It follows the rules of k8s.io/kube-openapi/pkg/schemaconv. structured-merge-diff says which
// fields Go types always have.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/internal/dev/bench/patch/builtin"
	"github.com/stagecraft-go/stagecraft/internal/files"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

func main() {
	schemas, err := read(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	kinds, err := builtin.Types()
	if err != nil {
		log.Fatal(err)
	}
	t := types{schemas: schemas, goTypes: map[string]reflect.Type{}, lines: map[string]string{}, keys: map[string][]string{}}
	for _, goType := range kinds {
		t.learn(goType)
	}
	if err := files.WriteBytes(os.Args[2], t.text()); err != nil {
		log.Fatal(err)
	}
}

func read(file string) (schemas map[string]openapi, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return schemas, json.NewDecoder(r).Decode(&schemas)
}

// openapi is the part of a schema that is read.
type openapi struct {
	Ref        string             `json:"$ref"`
	AllOf      []openapi          `json:"allOf"`
	Type       string             `json:"type"`
	Properties map[string]openapi `json:"properties"`
	Items      *openapi           `json:"items"`
	Values     *openapi           `json:"additionalProperties"`
	Default    any                `json:"default"`
	ListType   string             `json:"x-kubernetes-list-type"`
	ListKeys   []string           `json:"x-kubernetes-list-map-keys"`
	MapType    string             `json:"x-kubernetes-map-type"`
	Strategy   string             `json:"x-kubernetes-patch-strategy"`
	MergeKey   string             `json:"x-kubernetes-patch-merge-key"`
	Kinds      []kind             `json:"x-kubernetes-group-version-kind"`
}

type kind struct{ Group, Version, Kind string }

// root is the name of the type of a kind.
func (k kind) root() string {
	return strings.TrimPrefix(k.Group+"/"+k.Version+"/"+k.Kind, "/")
}

// name is the name of the type that a schema refers to.
func (s openapi) name() string {
	for _, part := range s.AllOf {
		s.Ref += part.Ref
	}
	return strings.TrimPrefix(s.Ref, "#/components/schemas/")
}

// listKeys are the keys of a list that merges; a set has no keys.
func (s openapi) listKeys() (keys []string, merges bool) {
	switch {
	case s.Items == nil:
		return nil, false
	case s.ListType == "map":
		return s.ListKeys, true
	case s.ListType == "set":
		return nil, true
	case s.ListType != "" || !strings.HasPrefix(s.Strategy, "merge"):
		return nil, false
	case s.MergeKey != "":
		return []string{s.MergeKey}, true
	}
	return nil, true
}

type types struct {
	schemas map[string]openapi
	goTypes map[string]reflect.Type
	lines   map[string]string   // by name
	keys    map[string][]string // the fields of a type that are keys of lists
}

// learn collects the Go types that a type consists of.
func (t *types) learn(goType reflect.Type) {
	switch goType.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		t.learn(goType.Elem())
	case reflect.Struct:
		name := openapiName(goType)
		if t.goTypes[name] != nil {
			return
		}
		t.goTypes[name] = goType
		for i := range goType.NumField() {
			t.learn(goType.Field(i).Type)
		}
	}
}

func openapiName(goType reflect.Type) string {
	return strings.ReplaceAll(strings.Replace(goType.PkgPath(), "k8s.io/", "io.k8s.", 1), "/", ".") + "." + goType.Name()
}

// text is the table.
func (t *types) text() []byte {
	for _, s := range t.schemas {
		for _, p := range s.Properties {
			if keys, merges := p.listKeys(); merges {
				t.keys[p.Items.name()] = append(t.keys[p.Items.name()], keys...)
			}
		}
	}
	for name, s := range t.schemas {
		_, isObject := s.Properties["metadata"]
		if _, isList := s.Properties["items"]; len(s.Kinds) == 1 && isObject && !isList {
			t.write(name, s.Kinds[0].root())
		}
	}
	t.write("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", metadataName)
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(t.lines)) {
		fmt.Fprintf(&b, "%s%s\n", name, t.lines[name])
	}
	return b.Bytes()
}

const (
	metadataName = "ObjectMeta"
	deduced      = "?"
	atomic       = "*"
)

// write writes a type and the types that it consists of, and returns its short name.
func (t *types) write(name, short string) string {
	if _, done := t.lines[short]; done {
		return short
	}
	t.lines[short] = ""
	t.lines[short] = t.fields(name)
	return short
}

// short is the name of a type in the table.
func short(name string) string {
	if strings.HasSuffix(name, ".ObjectMeta") {
		return metadataName
	}
	return strings.TrimPrefix(strings.TrimPrefix(name, "io.k8s.api."), "io.k8s.apimachinery.pkg.apis.")
}

func (t *types) fields(name string) string {
	var b strings.Builder
	s, zero := t.schemas[name], t.zero(name)
	for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[field]
		ref := t.ref(p)
		value, always := zero[field]
		if _, isMap := p.Default.(map[string]any); zero == nil && isMap {
			value, always = p.Default, true // a struct of a type that is not in k8s.io/api
		}
		isKey := slices.Contains(t.keys[name], field) && p.Default != nil
		if ref == deduced && !t.isMap(p) && !always && !isKey {
			continue
		}
		fmt.Fprintf(&b, " %s=%s", field, ref)
		if always {
			b.WriteString("=" + zeroText(value))
		}
		if isKey {
			b.WriteString("~" + encoded(p.Default))
		}
	}
	return b.String()
}

// zero returns the fields that a Go type has even if it is empty.
func (t *types) zero(name string) map[string]any {
	goType := t.goTypes[name]
	if goType == nil {
		return nil
	}
	v, err := value.NewValueReflect(reflect.New(goType).Interface())
	if err != nil {
		log.Fatal(err)
	}
	fields, _ := v.Unstructured().(map[string]any)
	return fields
}

// zeroText is a zero value. Those of the fields of a struct follow from its type.
func zeroText(v any) string {
	if _, isMap := v.(map[string]any); isMap {
		return "{}"
	}
	return encoded(v)
}

func encoded(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		log.Fatal(err)
	}
	return string(data)
}

func (t *types) isMap(s openapi) bool {
	return s.Values != nil || s.Type == "object" || t.schemas[s.name()].Type == "object"
}

// ref names the type of a value.
func (t *types) ref(s openapi) string {
	named := t.schemas[s.name()]
	keys, merges := s.listKeys()
	switch {
	case s.MapType == "atomic" || named.MapType == "atomic":
		return atomic
	case merges:
		return "[" + strings.Join(keys, ",") + "]" + t.ref(*s.Items)
	case s.Values != nil && t.ref(*s.Values) != deduced:
		return "{}" + t.ref(*s.Values)
	case len(named.Properties) > 0:
		return t.write(s.name(), short(s.name()))
	case named.Type == "object" && named.Values == nil: // such as a RawExtension
		return atomic
	}
	return deduced
}
