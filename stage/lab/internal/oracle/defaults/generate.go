package defaults

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/builtin"
)

// Stored returns an object as kube-apiserver decodes it before admission: read into its Go type,
// with defaults.
func Stored(obj map[string]any) (map[string]any, error) {
	typed, err := read(obj)
	if err != nil {
		return nil, err
	}
	legacyscheme.Scheme.Default(typed)
	return converted(typed)
}

// converted takes an object through the internal version, as the server does when it reads a request
// and answers it.
func converted(typed runtime.Object) (map[string]any, error) {
	kind := typed.GetObjectKind().GroupVersionKind()
	internal, err := legacyscheme.Scheme.ConvertToVersion(typed, schema.GroupVersion{Group: kind.Group, Version: runtime.APIVersionInternal})
	if err != nil {
		return nil, err
	}
	if typed, err = legacyscheme.Scheme.ConvertToVersion(internal, kind.GroupVersion()); err != nil {
		return nil, err
	}
	return write(typed)
}

// Canonical returns an object in the form of its Go type, without defaults.
func Canonical(obj map[string]any) (map[string]any, error) {
	typed, err := read(obj)
	if err != nil {
		return nil, err
	}
	return write(typed)
}

func read(obj map[string]any) (runtime.Object, error) {
	kind := schema.FromAPIVersionAndKind(fmt.Sprint(obj["apiVersion"]), fmt.Sprint(obj["kind"]))
	typed, err := legacyscheme.Scheme.New(kind)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, typed); err != nil {
		return nil, err
	}
	typed.GetObjectKind().SetGroupVersionKind(kind)
	return typed, nil
}

// write converts through JSON, as for a client, and leaves out nulls.
func write(typed runtime.Object) (map[string]any, error) {
	data, err := json.Marshal(typed)
	if err != nil {
		return nil, err
	}
	var obj map[string]any
	if err := utiljson.Unmarshal(data, &obj); err != nil {
		return nil, err
	}
	return withoutNulls(obj).(map[string]any), nil
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			if e == nil {
				delete(v, name)
				continue
			}
			v[name] = withoutNulls(e)
		}
	case []any:
		for i, e := range v {
			v[i] = withoutNulls(e)
		}
	}
	return v
}

// Generate returns the defaults of the objects of kinds.
func Generate(kinds []schema.GroupVersionKind) (*builtin.Data, error) {
	g := &generator{data: builtin.Data{Types: map[string]*builtin.Type{}, Kinds: map[string]string{}}, names: map[string]string{}}
	for _, kind := range kinds {
		typed, err := legacyscheme.Scheme.New(kind)
		if err != nil {
			return nil, err
		}
		p := probe{kind: kind}
		name, err := g.structure(p, reflect.TypeOf(typed).Elem())
		if err != nil {
			return nil, err
		}
		if name != "" {
			g.data.Kinds[kind.GroupVersion().String()+" "+kind.Kind] = name
		}
	}
	return &g.data, nil
}

// A generator collects types that differ.
type generator struct {
	data  builtin.Data
	names map[string]string // of types, by their content
}

// A probe is a place in an object of a kind.
type probe struct {
	kind schema.GroupVersionKind
	at   []step
}

// A step leads to a field. Its form is that of [builtin.Child].
type step struct {
	name string
	form builtin.Form
}

func (p probe) in(name string, form builtin.Form) probe {
	return probe{p.kind, append(slices.Clip(p.at), step{name, form})}
}

// filled returns the result of the functions of Kubernetes for an empty object at the place.
func (p probe) filled() (map[string]any, error) {
	obj := map[string]any{"apiVersion": p.kind.GroupVersion().String(), "kind": p.kind.Kind}
	at := obj
	for _, s := range p.at {
		next := map[string]any{}
		switch s.form {
		case builtin.Struct:
			at[s.name] = next
		case builtin.List:
			at[s.name] = []any{next}
		case builtin.Map:
			at[s.name] = map[string]any{"k": next}
		}
		at = next
	}
	stored, err := Stored(obj)
	if err != nil {
		return nil, fmt.Errorf("%s %v: %w", p.kind, p.at, err)
	}
	found := any(stored)
	for _, s := range p.at {
		found = found.(map[string]any)[s.name]
		switch s.form {
		case builtin.Struct:
		case builtin.List:
			found = found.([]any)[0]
		case builtin.Map:
			found = found.(map[string]any)["k"]
		}
		if found == nil {
			found = map[string]any{}
		}
	}
	return found.(map[string]any), nil
}

// structure adds the type at a place and returns its name, or "" if it has no defaults there.
func (g *generator) structure(p probe, of reflect.Type) (string, error) {
	set, err := p.filled()
	if err != nil {
		return "", err
	}
	if of == reflect.TypeFor[resourcev1.DeviceTaint]() {
		delete(set, "timeAdded") // the time of the request
	}
	t := &builtin.Type{Set: set, Fields: map[string]builtin.Child{}}
	if len(p.at) == 0 {
		for _, name := range []string{"apiVersion", "kind", "metadata"} {
			delete(t.Set, name)
		}
	}
	if err := g.fields(p, t, of); err != nil {
		return "", err
	}
	if len(t.Set)+len(t.Fields) == 0 {
		return "", nil
	}
	return g.name(of.Name(), t), nil
}

func (g *generator) fields(p probe, t *builtin.Type, of reflect.Type) error {
	for i := range of.NumField() {
		f := of.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && strings.Contains(options, "inline") || f.Anonymous && name == "" {
			if f.Type == reflect.TypeFor[metav1.TypeMeta]() {
				continue
			}
			if err := g.fields(p, t, f.Type); err != nil {
				return err
			}
			continue
		}
		if name == "metadata" && len(p.at) == 0 {
			continue
		}
		if v, is := t.Set[name]; is && f.Type.Kind() != reflect.Pointer && isScalar(v) && !isZero(v) {
			t.Zero = append(t.Zero, name)
		}
		form, elem := formOf(f.Type)
		if elem == nil {
			continue
		}
		child, err := g.structure(p.in(name, form), elem)
		if err != nil {
			return err
		}
		if child != "" {
			t.Fields[name] = builtin.Child{Type: child, Form: form}
		}
	}
	return nil
}

func isScalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// isZero reports whether a value is that of a field that is not set.
func isZero(v any) bool { return reflect.ValueOf(v).IsZero() }

// plain are structs that are values in JSON, or have no defaults by their definition.
var plain = []reflect.Type{
	reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime](), reflect.TypeFor[metav1.Duration](), reflect.TypeFor[resource.Quantity](), reflect.TypeFor[intstr.IntOrString](),
	reflect.TypeFor[runtime.RawExtension](), reflect.TypeFor[metav1.FieldsV1](), reflect.TypeFor[metav1.ObjectMeta](), reflect.TypeFor[metav1.LabelSelector](),
}

// formOf returns the form of a field and the struct in it, or nil without a struct.
func formOf(t reflect.Type) (form builtin.Form, elem reflect.Type) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Slice:
		form, t = builtin.List, t.Elem()
	case reflect.Map:
		form, t = builtin.Map, t.Elem()
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || slices.Contains(plain, t) {
		return form, nil
	}
	return form, t
}

// name returns the name of a type: that in Go, with a number if it is filled in differently in
// different places.
func (g *generator) name(goName string, t *builtin.Type) string {
	content, err := json.Marshal(t)
	if err != nil {
		panic(err) // it is made of maps, lists and texts
	}
	key := goName + " " + string(content)
	if name := g.names[key]; name != "" {
		return name
	}
	name := goName
	for n := 2; g.data.Types[name] != nil; n++ {
		name = fmt.Sprintf("%s/%d", goName, n)
	}
	g.names[key], g.data.Types[name] = name, t
	return name
}
