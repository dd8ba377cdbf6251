package memory

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/stagecraft-go/stagecraft/internal/patch"
	"github.com/stagecraft-go/stagecraft/stage/transport"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// Patch changes an object, or its status if subresources is "status", and returns the stored
// result. The patch types are JSON, merge, strategic merge (only for built-in kinds, else 415) and
// server-side apply, which creates a missing object. A patch with another metadata.resourceVersion
// than the stored one is a Conflict. A patch with another uid is Invalid. JSON patches have the
// limits of [ApplyJSONPatch]. Strategic merge patches merge lists of at most 10,000 elements.
func (c *Cluster) Patch(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error) {
	r := patchRequest(gvk, name, t, o, subresources...)
	r.ctx = ctx
	body, undecodable := decodeBody(t, data)
	return c.write(r, func(r *request) (*unstructured.Unstructured, error) {
		if r.tries > 1 { // the object of the first time has parts of the body
			body, undecodable = decodeBody(t, data)
		}
		switch {
		case undecodable != nil:
			return nil, undecodable
		case t == types.ApplyPatchType:
			return r.apply(body, o)
		}
		return r.patch(t, body)
	})
}

func patchRequest(gvk schema.GroupVersionKind, name types.NamespacedName, t types.PatchType, o metav1.PatchOptions, subresources ...string) request {
	r := request{Request: newRequest("patch", nil, subresources), manager: o.FieldManager, dryRun: len(o.DryRun) > 0}
	if t == types.ApplyPatchType {
		r.Verb = "apply"
	}
	r.Request.Kind, r.Name = gvk, name
	return r
}

func (r *request) patch(t types.PatchType, body any) (*unstructured.Unstructured, error) {
	old, err := r.stored()
	if err != nil {
		return nil, err
	}
	next, err := r.patched(r.before.Object, t, body)
	if err != nil {
		return nil, err
	}
	return r.replacePatched(old, next)
}

// patched is applied without the lock.
func (r *request) patched(obj map[string]any, t types.PatchType, body any) (next any, err error) {
	err = r.unlocked(func() (err error) {
		next, err = r.applied(obj, t, body)
		return err
	})
	return next, err
}

// patchValue patches an object for a caller that has computed the result for a known state of the
// object. If the known state is the stored state, the result is not computed again.
func (r *request) patchValue(p transport.PatchResult) (*unstructured.Unstructured, error) {
	old, err := r.stored()
	if err != nil {
		return nil, err
	}
	stored := r.before.Object
	if after, ok := r.made(p, stored); ok {
		return r.replacePatched(old, after)
	}
	next, err := r.patched(stored, p.Type, p.Data)
	if err != nil {
		return nil, err
	}
	if version := p.Before.GetResourceVersion(); version != "" && version != metadataOf(stored)["resourceVersion"] {
		return nil, r.modified()
	}
	return r.replacePatched(old, next)
}

// made returns the result that the caller computed. It returns false if another state is stored, or
// if the kind does not support the patch type.
func (r *request) made(p transport.PatchResult, stored map[string]any) (map[string]any, bool) {
	after, ok := p.After.(map[string]any)
	switch {
	case !ok || !same(stored, p.Before.Object):
		return nil, false
	case p.Type == types.JSONPatchType:
		return after, true
	}
	r.statusOnly = isStatusOnly(p.Data) && !same(stored, after)
	if p.Type == types.StrategicMergePatchType {
		return withKindOf(stored, after), r.kind.builtin
	}
	return after, true
}

// isStatusOnly reports whether a merge patch or strategic merge patch has no other field than
// status.
func isStatusOnly(body any) bool {
	m, _ := body.(map[string]any)
	return len(m) == 1 && m["status"] != nil
}

// decodeBody reads a patch. The caller does not hold the lock, because decodeBody takes a large
// part of the time of a write.
func decodeBody(t types.PatchType, data []byte) (body any, err error) {
	if t == types.ApplyPatchType {
		body, err = decodeYAML(data)
	} else {
		err = utiljson.Unmarshal(data, &body)
	}
	if err != nil {
		return nil, malformed(err)
	}
	return body, nil
}

func malformed(err error) error {
	return apierrors.NewBadRequest("error decoding patch: " + err.Error())
}

// replacePatched checks that the result of a patch is an object of the same kind and name, and
// stores it.
func (r *request) replacePatched(old *record, next any) (*unstructured.Unstructured, error) {
	obj := r.before.Object
	root, ok := next.(map[string]any)
	if !ok {
		return nil, unprocessable(errors.New("the patched object is no object"))
	}
	root = withMetadata(root)
	if err := r.checkPatched(obj, root); err != nil {
		return nil, err
	}
	return r.replace(old, root)
}

func (r *request) checkPatched(before, next map[string]any) error {
	metadataChanged := !same(metadataOf(before), metadataOf(next))
	if metadataChanged {
		if err := wellFormed(next); err != nil {
			return unprocessable(err)
		}
	}
	if err := r.checkSameKind(next, before["apiVersion"]); err != nil {
		return unprocessable(err)
	}
	if metadataChanged {
		return r.checkSameObject(next)
	}
	return nil
}

// withMetadata returns an object with metadata, so that wellFormed need not add metadata to an
// object that can be shared.
func withMetadata(root map[string]any) map[string]any {
	if root["metadata"] == nil {
		return withField(root, "metadata", map[string]any{})
	}
	return root
}

// applied returns the result of a patch on an object. The result may share parts with both.
func (r *request) applied(obj map[string]any, t types.PatchType, body any) (any, error) {
	switch t {
	case types.JSONPatchType:
		return patchedByJSON(obj, body)
	case types.MergePatchType:
		if _, ok := body.(map[string]any); !ok {
			return nil, apierrors.NewBadRequest("error decoding patch: a merge patch must be an object")
		}
		return patch.Merge(obj, body), nil
	case types.StrategicMergePatchType:
		return r.strategic(obj, body)
	default:
		return nil, unsupported(fmt.Sprintf("the patch type %q is not supported", t))
	}
}

// ApplyJSONPatch returns the result of a JSON patch on fields. It does not change fields; the
// result can share parts with them. The error is the same as an API server's: bad request if the
// patch is not a list of operations, request entity too large if it has more than 10,000
// operations, and 422 if an operation cannot be applied. The error is also 422 if all operations
// together copy more than 3 MiB, or move more than 2^28 list elements. [Cluster.Patch] has the same
// limits. ApplyJSONPatch is safe for concurrent use.
func ApplyJSONPatch(fields map[string]any, patch []byte) (any, error) {
	body, err := decodeBody(types.JSONPatchType, patch)
	if err != nil {
		return nil, err
	}
	return patchedByJSON(fields, body)
}

// CheckJSONPatch returns an error if a JSON patch on fields exceeds a limit of [ApplyJSONPatch]. It
// ignores other faults of the patch. It is for patches that another library applies. It is safe for
// concurrent use.
func CheckJSONPatch(fields map[string]any, operations []byte) error {
	var ops []any
	if utiljson.Unmarshal(operations, &ops) != nil {
		return nil
	}
	if _, err := patch.JSON(fields, ops); patch.IsLimit(err) {
		return err
	}
	return nil
}

func patchedByJSON(fields map[string]any, body any) (any, error) {
	ops, ok := body.([]any)
	if !ok {
		return nil, apierrors.NewBadRequest("error decoding patch: a JSON patch must be a list of operations")
	}
	next, err := patch.JSON(fields, ops)
	var many patch.CountError
	switch {
	case errors.As(err, &many):
		return nil, apierrors.NewRequestEntityTooLargeError(err.Error())
	case err != nil:
		return nil, unprocessable(err)
	}
	return next, nil
}

func (r *request) strategic(obj map[string]any, body any) (any, error) {
	if !r.kind.builtin {
		return nil, unsupported("the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml")
	}
	m, ok := body.(map[string]any)
	if !ok {
		return nil, apierrors.NewBadRequest("error decoding patch: a strategic merge patch must be an object")
	}
	next, err := patch.Strategic(r.kind.schema, obj, m)
	var fault *patch.Error
	switch {
	case errors.As(err, &fault):
		return nil, unprocessable(err)
	case err != nil:
		return nil, err
	}
	return withKindOf(obj, next), nil
}

// withKindOf restores the kind and apiVersion of an object after a strategic merge patch, which
// cannot change them.
func withKindOf(obj, next map[string]any) map[string]any {
	for _, name := range [...]string{"apiVersion", "kind"} {
		if next[name] != obj[name] {
			next = withField(next, name, obj[name])
		}
	}
	return next
}

func unsupported(message string) error {
	err := apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "patch", schema.GroupResource{}, "", message, 0, false)
	err.ErrStatus.Message = message
	return err
}

// decodeYAML reads one YAML or JSON document, integers as int64. The parser of YAML takes twenty
// times as long, also for JSON, which most clients send.
func decodeYAML(data []byte) (m map[string]any, err error) {
	if len(data) > 0 && data[0] == '{' && utiljson.Unmarshal(data, &m) == nil {
		return m, nil
	}
	if err := CheckAliases(data); err != nil {
		return nil, err
	}
	text, err := yaml.YAMLToJSON(data)
	if err != nil {
		return nil, err
	}
	m = nil
	return m, utiljson.Unmarshal(text, &m)
}
