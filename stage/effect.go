package stage

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/internal/patch"
	"github.com/stagecraft-go/stagecraft/internal/printable"
)

// Effect is one thing that a transition does to the cluster: an [Event], a [Patch], an [Apply] or a
// [Delete]. Effects are data: a program can print them, compare them with reflect.DeepEqual, keep
// them and send them later. It must not change them, because effects share parts with each other.
type Effect interface {
	// String prints the effect in one line, without control characters.
	String() string

	isEffect()
}

// Event records an Event about the object.
type Event struct {
	Type    string // Normal or Warning
	Reason  string
	Message string
}

// Patch patches the object. Without a Subresource it goes to the main resource.
type Patch struct {
	Type        types.PatchType // JSON patch, merge patch or strategic merge patch
	Subresource string
	Impersonate string // the user who sends it; "" is the player itself
	Data        any    // the whole patch as JSON values: map[string]any, or []any for a JSON patch
}

// Apply creates the object, or changes it if it exists: by server-side apply or by a patch. With a
// Subresource it only patches the subresource. An object of a namespaced kind without a namespace
// gets the namespace of the transition's object.
type Apply struct {
	Type        types.PatchType // ApplyPatchType, merge patch or strategic merge patch
	Subresource string
	Impersonate string
	Object      *unstructured.Unstructured
}

// Delete deletes the object with a grace period of 0. An object that is already gone is a success.
type Delete struct{}

func (Event) isEffect()  {}
func (Patch) isEffect()  {}
func (Apply) isEffect()  {}
func (Delete) isEffect() {}

// String prints `event Normal Created "Created container"`.
func (e Event) String() string {
	return fmt.Sprintf("event %s %s %s", printable.Text(e.Type), printable.Text(e.Reason), printable.Text(strconv.Quote(e.Message)))
}

// String prints `patch merge /status as user {"status":…}`.
func (p Patch) String() string {
	return join("patch", short(p.Type), slash(p.Subresource), as(p.Impersonate), printable.Line(object.Readable(p.Data)))
}

// String prints `apply merge /status as user v1 ConfigMap default/log {…}`.
func (a Apply) String() string {
	if a.Object == nil {
		return "apply nothing"
	}
	return join("apply", short(a.Type), slash(a.Subresource), as(a.Impersonate), printable.Text(a.Object.GetAPIVersion()), KeyOf(a.Object).String(), printable.Line(object.Readable(a.Object.Object)))
}

// String prints "delete".
func (Delete) String() string { return "delete" }

// JSON returns the patch as the player sends it, with sorted keys.
func (p Patch) JSON() []byte { return encode(p.Data) }

// JSON returns the object as the player sends it, with sorted keys.
func (a Apply) JSON() []byte {
	if a.Object == nil {
		return encode(nil)
	}
	return encode(a.Object.Object)
}

// NoOp reports whether the patch would change nothing on obj. It neither changes nor keeps obj. The
// error says why the patch cannot be applied, for example because a JSON patch removes a missing
// field.
func (p Patch) NoOp(obj *unstructured.Unstructured) (bool, error) {
	if obj == nil {
		return false, errors.New("there is no object to patch")
	}
	after, err := p.Result(obj)
	if err != nil {
		return false, err
	}
	return patch.Equal(obj.Object, after), nil
}

// schemaOf says how patches of an object merge. Without a schema, a patch replaces lists; a server
// will refuse it.
func schemaOf(obj *unstructured.Unstructured) patch.Schema {
	gvk := obj.GroupVersionKind()
	schema, _ := patch.SchemaFor(gvk.Group, gvk.Version, gvk.Kind)
	return schema
}

// Result returns obj with the patch applied, as JSON values. It neither changes nor keeps obj, but
// the result shares unchanged parts with obj. The error says why the patch cannot be applied. A
// strategic merge patch merges lists by their keys for the kinds that it knows, as an API server
// does. It replaces the lists of other kinds.
func (p Patch) Result(obj *unstructured.Unstructured) (any, error) {
	switch p.Type {
	case types.JSONPatchType:
		ops, _ := p.Data.([]any)
		return patch.JSON(obj.Object, ops)
	case types.StrategicMergePatchType:
		data, ok := p.Data.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("a strategic merge patch must be an object, not %T", p.Data)
		}
		return patch.Strategic(schemaOf(obj), obj.Object, data)
	default:
		return patch.Merge(obj.Object, p.Data), nil
	}
}

// usualPatch is the initial capacity of an encoded patch: enough for the status of a Pod with one
// container.
const usualPatch = 1 << 10

// encode writes JSON values. The values come from a template, or from a Patch that a user made in
// Go and that can hold any Go value. encode writes a value that JSON cannot hold as a string with
// the error, so that every server refuses the patch.
func encode(v any) []byte {
	data, err := object.AppendJSON(make([]byte, 0, usualPatch), v)
	if err != nil {
		return strconv.AppendQuote(nil, err.Error())
	}
	return data
}

// short returns the word that Stages use for a patch type.
func short(t types.PatchType) string {
	for name, known := range patchTypes {
		if known == t {
			return string(name)
		}
	}
	return ""
}

func slash(subresource string) string {
	if subresource == "" {
		return ""
	}
	return "/" + subresource
}

func as(user string) string {
	if user == "" {
		return ""
	}
	return "as " + user
}

// join joins the words that are not empty with spaces.
func join(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}
