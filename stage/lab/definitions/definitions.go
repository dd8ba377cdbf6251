package definitions

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stagecraft-go/stagecraft/stage/lab/definitions/internal/form"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// Kind is the kind of definitions.
var Kind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

var resource = schema.GroupResource{Group: Kind.Group, Resource: "customresourcedefinitions"}

// An Index has the compiled schemas of a cluster's custom kinds.
type Index struct {
	options     Options
	mu          sync.Mutex
	definitions map[string]*definition // by name
}

// Options of an [Index]. The zero value is the default.
type Options struct {
	// Convert converts the objects of definitions with spec.conversion.strategy Webhook. Default: a
	// definition is refused if its objects would have to be converted.
	Convert Converter
	// Metadata returns the faults of the metadata of a changed object, for example
	// validation.Metadata of stage/lab. They come before the faults of the schema in one error, as in
	// kube-apiserver. It is called for objects that do not fit their schema. Default: no faults.
	Metadata func(*memory.Review) field.ErrorList
}

// New returns an index without schemas.
func New(o Options) *Index { return &Index{options: o, definitions: map[string]*definition{}} }

// Hooks returns the hooks of a cluster that apply its definitions.
func (x *Index) Hooks() memory.Hooks {
	return memory.Hooks{Name: "definitions", Schemas: true, Default: x.fill, Validate: x.validate, Convert: x.convert}
}

// fill prunes an object of a custom kind and fills in its defaults.
func (x *Index) fill(v *memory.Review) error {
	if v.Resource == resource {
		fillDefinition(v)
		return nil
	}
	s, err := x.reviewed(v)
	if s == nil || err != nil {
		return err
	}
	for name, value := range v.New.Object { // what is below the root may be shared with others
		if name != "metadata" {
			v.New.Object[name] = runtime.DeepCopyJSONValue(value)
		}
	}
	s.prune(v.New.Object)
	if faults := s.weights.affords(v.New.Object, (*budget).fill); len(faults) > 0 {
		return apierrors.NewInvalid(v.Kind.GroupKind(), v.Name.Name, faults)
	}
	s.fill(v.New.Object)
	return nil
}

// validate refuses an object of a custom kind that is not valid.
func (x *Index) validate(v *memory.Review) error {
	if v.Resource == resource {
		if faults := x.conversionFaults(v.New, v.Old); len(faults) > 0 {
			return apierrors.NewInvalid(v.Kind.GroupKind(), v.Name.Name, faults)
		}
		return nil
	}
	s, err := x.reviewed(v)
	if s == nil || err != nil {
		return err
	}
	faults := s.affords(v.New.Object)
	if len(faults) == 0 {
		faults = s.check(v)
	}
	if len(faults) == 0 {
		return nil
	}
	if x.options.Metadata != nil && v.Old != nil && v.Subresource == "" { // check looks at the metadata of a new object
		faults = append(x.options.Metadata(v), faults...)
	}
	return apierrors.NewInvalid(v.Kind.GroupKind(), v.Name.Name, shortened(faults))
}

// affords returns a fault if the validation of an object would take too long.
func (v *version) affords(obj map[string]any) field.ErrorList {
	if faults := v.weights.affords(obj, (*budget).validate); len(faults) > 0 {
		return faults
	}
	if faults := v.patterns.affords(obj); len(faults) > 0 {
		return faults
	}
	return v.tooMany(obj)
}

// reviewed returns the schema for the object of a write; nil if its kind has no definition.
func (x *Index) reviewed(v *memory.Review) (*version, error) {
	if v.Resource.Group == "" {
		return nil, nil
	}
	crd := v.Get(Kind, types.NamespacedName{Name: v.Resource.String()})
	if crd == nil {
		return nil, nil
	}
	return x.schema(crd, v.Kind.Version)
}

// Unknown removes the fields that the kind does not have from an object, including its metadata,
// and returns their paths. An object of a kind without a definition stays as it is.
func (x *Index) Unknown(ctx context.Context, c *memory.Cluster, obj *unstructured.Unstructured) ([]string, error) {
	kind := obj.GroupVersionKind()
	crd, err := c.Definition(ctx, kind)
	if crd == nil || err != nil {
		return nil, err
	}
	s, err := x.schema(crd, kind.Version)
	if err != nil {
		return nil, err
	}
	return s.unknown(obj.Object)
}

// Fill fills in the defaults of an object of a custom kind. Other objects stay as they are.
func (x *Index) Fill(ctx context.Context, c *memory.Cluster, obj *unstructured.Unstructured) {
	kind := obj.GroupVersionKind()
	crd, err := c.Definition(ctx, kind)
	if crd == nil || err != nil {
		return
	}
	if s, err := x.schema(crd, kind.Version); err == nil {
		s.fill(obj.Object)
	}
}

// Read returns an object as a client reads it in a version: with the defaults of the storage
// version, and without fields that the version does not have. It returns the object itself if its
// definition has had only one schema since its creation, or if a Converter has made the object,
// otherwise a copy.
func (x *Index) Read(crd, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if crd == nil || isAsWritten(crd) || needsConverter(crd) && obj.GroupVersionKind().Version != storageVersion(crd) {
		return obj, nil
	}
	read, err := x.schema(crd, obj.GroupVersionKind().Version)
	if err != nil {
		return nil, err
	}
	stored, err := x.schema(crd, storageVersion(crd))
	if err != nil {
		return nil, err
	}
	obj = obj.DeepCopy()
	stored.fill(obj.Object)
	read.prune(obj.Object)
	return obj, nil
}

// isAsWritten reports whether stored objects of a definition need no change before they are read.
func isAsWritten(crd *unstructured.Unstructured) bool {
	return crd.GetGeneration() <= 1 && len(versionsOf(crd)) == 1
}

// versionsOf returns spec.versions without a copy: schemas can be large, and each read of an object asks.
func versionsOf(crd *unstructured.Unstructured) []any {
	versions, _ := object.Slice(crd.Object, "spec", "versions")
	return versions
}

// storageVersion returns the version in which objects are stored.
func storageVersion(crd *unstructured.Unstructured) string {
	for _, v := range versionsOf(crd) {
		if fields, _ := v.(map[string]any); fields["storage"] == true {
			name, _ := fields["name"].(string)
			return name
		}
	}
	return ""
}

// A definition has the schemas of a CustomResourceDefinition.
type definition struct {
	mu       sync.Mutex // held while a schema is compiled, so that other kinds do not wait
	spec     map[string]any
	internal *apiextensions.CustomResourceDefinition
	versions map[string]*version
}

// schema returns the compiled schema of a version.
func (x *Index) schema(crd *unstructured.Unstructured, name string) (*version, error) {
	d := x.definition(crd)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.use(crd); err != nil {
		return nil, notValid(crd, err)
	}
	if d.versions[name] == nil {
		v, err := compile(d.internal, name)
		if err != nil {
			return nil, notValid(crd, err)
		}
		d.versions[name] = v
	}
	return d.versions[name], nil
}

// mostDefinitions is of how many names the schemas are kept.
const mostDefinitions = 10_000

func (x *Index) definition(crd *unstructured.Unstructured) *definition {
	x.mu.Lock()
	defer x.mu.Unlock()
	d := x.definitions[crd.GetName()]
	if d == nil {
		if len(x.definitions) >= mostDefinitions {
			clear(x.definitions)
		}
		d = &definition{}
		x.definitions[crd.GetName()] = d
	}
	return d
}

// use forgets the schemas of another spec.
func (d *definition) use(crd *unstructured.Unstructured) (err error) {
	spec, _ := crd.Object["spec"].(map[string]any)
	if d.internal == nil || !reflect.DeepEqual(d.spec, spec) { // the same map is equal at once
		if d.internal, err = form.Of(crd.Object); err != nil {
			return err
		}
		d.versions = map[string]*version{}
	}
	d.spec = spec
	return nil
}

// notValid answers a request for a kind whose definition was stored before definitions were
// validated.
func notValid(crd *unstructured.Unstructured, err error) error {
	return apierrors.NewInternalError(fmt.Errorf("the definition %s is not valid: %w", crd.GetName(), err))
}
