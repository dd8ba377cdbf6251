// Package strict reads objects as kube-apiserver does with fieldValidation=Strict: it finds fields
// that a kind does not have, and values of the wrong type. A lab uses it for the manifests that it
// applies, and the server of stage/lab/apiserver for the bodies of requests.
package strict

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8sjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/stagecraft-go/stagecraft/stage/lab/definitions"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// scheme has the kinds whose fields Go types define.
var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(apiextensionsv1.AddToScheme(s))
	return s
}()

// JSON and YAML read objects of kinds with Go types. Their errors are those of package runtime: a
// strict decoding error has all unknown fields, another error is the first value of a wrong type.
var (
	JSON runtime.Decoder = reader(false)
	YAML runtime.Decoder = reader(true)
)

func reader(isYAML bool) runtime.Decoder {
	return k8sjson.NewSerializerWithOptions(k8sjson.DefaultMetaFactory, scheme, scheme, k8sjson.SerializerOptions{Yaml: isYAML, Strict: true})
}

// HasType reports whether a Go type defines the fields of a kind.
func HasType(kind schema.GroupVersionKind) bool { return scheme.Recognizes(kind) }

// Typed returns the faults of an object of a kind with a Go type, and nil for other kinds.
func Typed(obj *unstructured.Unstructured) []error {
	kind := obj.GroupVersionKind()
	if !HasType(kind) {
		return nil
	}
	data, err := json.Marshal(obj.Object)
	if err != nil {
		return []error{err}
	}
	_, _, err = JSON.Decode(data, &kind, nil)
	if faults, isStrict := runtime.AsStrictDecodingError(err); isStrict {
		return faults.Errors()
	}
	if err != nil {
		return []error{err}
	}
	return nil
}

// Custom removes the fields that a custom kind does not have from an object, and returns a fault for
// each. An object of a kind without a definition has no faults.
func Custom(ctx context.Context, schemas *definitions.Index, c *memory.Cluster, obj *unstructured.Unstructured) (faults []error, err error) {
	paths, err := schemas.Unknown(ctx, c, obj)
	for _, path := range paths {
		faults = append(faults, fmt.Errorf("unknown field %q", path))
	}
	return faults, err
}

var unknownField = regexp.MustCompile(`^unknown field "(.*)"$`)

// UnknownPath returns the path of the field that a fault calls unknown. It returns false for other
// faults. Package runtime has no type for these faults.
func UnknownPath(fault error) (path string, ok bool) {
	m := unknownField.FindStringSubmatch(fault.Error())
	if m == nil {
		return "", false
	}
	return m[1], true
}

// PathOf returns the path of the field that a fault is about, or "". The path of a value of a wrong
// type has no indexes of lists: sigs.k8s.io/json, whose type for such errors is internal, leaves them
// out.
func PathOf(fault error) string {
	if path, ok := UnknownPath(fault); ok {
		return path
	}
	v := reflect.Indirect(reflect.ValueOf(fault))
	if v.Kind() != reflect.Struct {
		return ""
	}
	if f := v.FieldByName("Field"); f.IsValid() && f.Kind() == reflect.String {
		return f.String()
	}
	return ""
}
