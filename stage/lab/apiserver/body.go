package apiserver

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/strict"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// maxBody is how long the body of a request may be, as in kube-apiserver.
const maxBody = 3 << 20

// readBody reads the body of a request.
func readBody(r *http.Request) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, badRequest("reading the body: %v", err)
	case len(data) > maxBody:
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
	}
	if err := take(r.Context(), len(data)); err != nil {
		return nil, err
	}
	if strings.Contains(r.Header.Get("Content-Type"), "yaml") {
		err = checkAliases(data)
	}
	return data, err
}

func checkAliases(data []byte) error {
	if err := memory.CheckAliases(data); err != nil {
		return badRequest("error decoding YAML: %v", err)
	}
	return nil
}

// strictness is the parameter fieldValidation.
type strictness string

// report refuses a body with faults, or tells of them in headers, or not at all.
func (v strictness) report(w http.ResponseWriter, err error, kind schema.GroupVersionKind) error {
	found, isStrict := runtime.AsStrictDecodingError(err)
	if !isStrict {
		return err
	}
	switch v {
	case metav1.FieldValidationStrict:
		return cannotBeHandled(kind, err)
	case metav1.FieldValidationIgnore:
	default:
		for _, fault := range found.Errors() {
			w.Header().Add("Warning", fmt.Sprintf("299 - %q", fault.Error()))
		}
	}
	return nil
}

func cannotBeHandled(kind schema.GroupVersionKind, err error) error {
	return badRequest("%s in version %q cannot be handled as a %s: %v", kind.Kind, kind.Version, kind.Kind, err)
}

// mediaTypeOf returns the media type of a body; JSON if the client says nothing.
func mediaTypeOf(r *http.Request) (string, error) {
	given := r.Header.Get("Content-Type")
	if given == "" {
		return jsonType, nil
	}
	mediaType, _, err := mime.ParseMediaType(given)
	if err != nil {
		return given, nil // nothing reads that
	}
	return mediaType, nil
}

// unsupported is the answer to a body of another media type than those that can be read.
func unsupported(known ...string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusUnsupportedMediaType, Reason: metav1.StatusReasonUnsupportedMediaType,
		Message: "the body of the request was in an unknown format - accepted media types include: " + strings.Join(known, ", ")}}
}

// decode reads an object of a kind from the body of a request.
func decode(w http.ResponseWriter, r *http.Request, kind schema.GroupVersionKind, validation strictness) (*unstructured.Unstructured, error) {
	mediaType, err := mediaTypeOf(r)
	if err != nil {
		return nil, err
	}
	data, err := readBody(r)
	if err != nil {
		return nil, err
	}
	isBuiltin := scheme.Scheme.Recognizes(kind)
	switch {
	case mediaType == protobufType && isBuiltin:
		return decodeProtobuf(data, kind)
	case mediaType != jsonType && mediaType != yamlType && !isBuiltin:
		return nil, unsupported(jsonType, yamlType)
	case mediaType != jsonType && mediaType != yamlType:
		return nil, unsupported(jsonType, yamlType, protobufType)
	case isBuiltin:
		return decodeBuiltin(w, data, kind, validation, mediaType)
	}
	return decodeFields(w, data, kind, validation, mediaType)
}

func decodeProtobuf(data []byte, kind schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	obj, _, err := protobufSerializer.Decode(data, &kind, nil)
	if err != nil {
		return nil, cannotBeHandled(kind, err)
	}
	return fieldsOf(obj, kind)
}

// builtinReaders read JSON and YAML of kinds with Go types. They refuse values of the wrong type, and
// tell which fields they do not know.
var builtinReaders = map[string]runtime.Decoder{jsonType: strict.JSON, yamlType: strict.YAML}

func decodeBuiltin(w http.ResponseWriter, data []byte, kind schema.GroupVersionKind, validation strictness, mediaType string) (*unstructured.Unstructured, error) {
	obj, read, err := builtinReaders[mediaType].Decode(data, &kind, nil)
	switch {
	case err != nil && (read == nil || read.Empty()):
		return nil, unrecognized(data, kind, err)
	case err != nil && !runtime.IsStrictDecodingError(err):
		return nil, cannotBeHandled(kind, err)
	}
	if *read != kind {
		return nil, otherKind(*read, kind)
	}
	if err := validation.report(w, err, kind); err != nil {
		return nil, err
	}
	return fieldsOf(obj, kind)
}

// otherKind is the answer to an object of another kind than that of the path.
func otherKind(read, kind schema.GroupVersionKind) error {
	inside, _, _ := strings.Cut(kind.Group, ".")
	return badRequest("%s in version %q cannot be handled as a %s: converting (%s.%s) to (%s.%s): unknown conversion",
		read.Kind, read.Version, kind.Kind, read.Version, read.Kind, cmp.Or(inside, "core"), kind.Kind)
}

// unrecognized is the answer to a body of which the kind cannot be told.
func unrecognized(data []byte, kind schema.GroupVersionKind, err error) error {
	return badRequest("the object provided is unrecognized (must be of type %s): %v (%s)", kind.Kind, err, summary(data))
}

// summary is the beginning of a body.
func summary(data []byte) string {
	const length = 30
	switch {
	case len(data) == 0:
		return "<empty>"
	case data[0] == '{' && len(data) > length:
		return string(data[:length]) + " ..."
	case data[0] == '{':
		return string(data)
	case len(data) > length:
		return hex.EncodeToString(data[:length]) + " ..."
	}
	return hex.EncodeToString(data)
}

// decodeFields reads an object of a kind without a Go type in client-go.
func decodeFields(w http.ResponseWriter, data []byte, kind schema.GroupVersionKind, validation strictness, mediaType string) (*unstructured.Unstructured, error) {
	u, err := readFields(data, kind, mediaType)
	switch {
	case err != nil:
		return nil, err
	case u.GroupVersionKind() != kind:
		return nil, otherKind(u.GroupVersionKind(), kind)
	case !strict.HasType(kind):
		return u, nil
	}
	_, _, err = builtinReaders[mediaType].Decode(data, &kind, nil)
	if err != nil && !runtime.IsStrictDecodingError(err) {
		return nil, cannotBeHandled(kind, err)
	}
	return u, validation.report(w, err, kind)
}

// readFields reads an object; kind is the one that it should have.
func readFields(data []byte, kind schema.GroupVersionKind, mediaType string) (*unstructured.Unstructured, error) {
	if mediaType == yamlType {
		var err error
		if data, err = yaml.YAMLToJSON(data); err != nil {
			return nil, badRequest("the object provided is unrecognized: %v", err)
		}
	}
	u := &unstructured.Unstructured{}
	if _, _, err := unstructured.UnstructuredJSONScheme.Decode(data, &kind, u); err != nil {
		return nil, unrecognized(data, kind, err)
	}
	return u, nil
}

// fieldsOf returns an object of a Go type as fields.
func fieldsOf(obj runtime.Object, kind schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, cannotBeHandled(kind, err)
	}
	u := &unstructured.Unstructured{Object: fields}
	u.SetGroupVersionKind(kind)
	return u, nil
}

// decodeOptions reads DeleteOptions from a body; without a body they are left as they are. They may
// be those of the version of the resource, which clients of custom kinds send.
func decodeOptions(r *http.Request, version schema.GroupVersion, into *metav1.DeleteOptions) error {
	data, err := readBody(r)
	if err != nil || len(data) == 0 {
		return err
	}
	if err := checkAliases(data); err != nil { // it is read as YAML, whatever its type
		return err
	}
	read := yaml.Unmarshal
	if json.Valid(data) {
		read = func(data []byte, into any, _ ...yaml.JSONOpt) error { return json.Unmarshal(data, into) }
	}
	var given metav1.TypeMeta
	if read(data, &given) == nil && given.GroupVersionKind() == version.WithKind("DeleteOptions") {
		if err := read(data, into); err != nil {
			return badRequest("%v", err)
		}
		return nil
	}
	kind := schema.GroupVersionKind{Version: "v1", Kind: "DeleteOptions"}
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, &kind, nil)
	if err != nil {
		return badRequest("%v", err)
	}
	options, ok := obj.(*metav1.DeleteOptions)
	if !ok {
		return badRequest("the body is no DeleteOptions but a %T", obj)
	}
	*into = *options
	return nil
}
