package memory

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/stagecraft-go/stagecraft/internal/managedfields"
	"github.com/stagecraft-go/stagecraft/internal/patch"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// apply carries out a server-side apply.
func (r *request) apply(body any, o metav1.PatchOptions) (*unstructured.Unstructured, error) {
	config, err := r.admitApply(body, o)
	if err != nil {
		return nil, err
	}
	old, err := r.stored()
	isNew := apierrors.IsNotFound(err) && r.Subresource == ""
	if err != nil && !isNew {
		return nil, err
	}
	if isNew && metadataOf(config)["name"] == nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", r.Name.Name))
	}
	before := map[string]any{"apiVersion": config["apiVersion"], "kind": config["kind"]}
	if !isNew {
		before = r.before.Object
	}
	next, err := r.configured(before, config, o.Force != nil && *o.Force)
	if err != nil {
		return nil, err
	}
	if isNew {
		if uid, _ := metadataOf(config)["uid"].(string); uid != "" {
			return nil, r.conflict("uid mismatch: the provided object specified uid %s, and no existing object was found", uid)
		}
		return r.create(withMetadata(next), false)
	}
	return r.replace(old, withMetadata(next))
}

// configured returns an object after the apply of a configuration, and remembers its managedFields.
func (r *request) configured(before, config map[string]any, force bool) (next map[string]any, err error) {
	if err := r.kind.form.checkOwners(before); err != nil {
		return nil, answer(err)
	}
	w := r.writer(before, config)
	var entries []any
	err = r.unlocked(func() (err error) {
		if next, entries, err = w.Apply(before, config, force); err != nil {
			return answer(err)
		}
		return nil
	})
	r.entries = &entries
	return next, err
}

// answer returns an error in the form that the client gets.
func answer(err error) error {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return err
	}
	var tooWide *managedfields.WidthError
	if errors.As(err, &tooWide) {
		return apierrors.NewRequestEntityTooLargeError(err.Error())
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error()}}
}

// admitApply checks a configuration. A null in it is treated as a missing field.
func (r *request) admitApply(body any, o metav1.PatchOptions) (map[string]any, error) {
	if o.FieldManager == "" {
		fault := field.Required(field.NewPath("fieldManager"), "is required for apply patch")
		return nil, apierrors.NewInvalid(metav1.SchemeGroupVersion.WithKind("PatchOptions").GroupKind(), "", fieldErrors{fault})
	}
	config, _ := patch.Merge(nil, body).(map[string]any)
	if config == nil {
		return nil, apierrors.NewBadRequest("error decoding patch: a configuration must be an object")
	}
	if err := wellFormed(config); err != nil {
		return nil, err
	}
	metadata := metadataOf(config)
	if metadata["managedFields"] != nil {
		return nil, apierrors.NewBadRequest("metadata.managedFields must be nil")
	}
	if r.kind.ClusterScoped {
		delete(metadata, "namespace")
	}
	if err := r.checkSameKind(config, nil); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid object type: %s", schema.FromAPIVersionAndKind(fmt.Sprint(config["apiVersion"]), fmt.Sprint(config["kind"]))))
	}
	return config, r.checkSameObject(config)
}
