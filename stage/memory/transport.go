package memory

import (
	"context"

	"github.com/stagecraft-go/stagecraft/stage/transport"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

var (
	_ transport.Transport    = (*Cluster)(nil)
	_ transport.Impersonator = (*Cluster)(nil)
	_ transport.Sharer       = (*Cluster)(nil)
	_ transport.Impersonator = sharing{}
	_ transport.ValueWriter  = sharing{}
)

// As is [Cluster.Impersonate] with the signature of [transport.Impersonator].
func (c *Cluster) As(user string) transport.Writer { return c.Impersonate(user) }

// Share is [Cluster.Shared] with the signature of [transport.Sharer]. The result is also a
// [transport.ValueWriter] and a [transport.StatusWriter].
func (c *Cluster) Share() transport.Transport { return sharing{c.Shared()} }

// sharing has the methods of a [transport.ValueWriter]. Cluster does not have them because of types
// that embed a Cluster and define Patch: a player would call the methods of the Cluster, and never
// the defined Patch.
type sharing struct{ *Cluster }

func (s sharing) As(user string) transport.Writer { return sharing{s.Impersonate(user)} }

// CreateValue stores the object itself.
func (s sharing) CreateValue(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	r := request{ctx: ctx, Request: newRequest("create", obj, nil), manager: o.FieldManager, dryRun: len(o.DryRun) > 0}
	return s.write(r, func(r *request) (*unstructured.Unstructured, error) {
		if err := r.settleForm(obj.Object); err != nil {
			return nil, err
		}
		return r.create(obj.Object, false)
	})
}

// PatchValue takes a patch and its result as values. It stores the result if the object has not
// changed since the result was computed.
func (s sharing) PatchValue(_ context.Context, p transport.PatchResult, o metav1.PatchOptions) (*unstructured.Unstructured, error) {
	r := patchRequest(p.Kind, p.Name, p.Type, o, p.Subresource)
	return s.write(r, func(r *request) (*unstructured.Unstructured, error) { return r.patchValue(p) })
}

// ReplaceStatus stores the status itself.
func (s sharing) ReplaceStatus(ctx context.Context, obj *unstructured.Unstructured, status map[string]any, o metav1.PatchOptions) (*unstructured.Unstructured, error) {
	name := types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	r := patchRequest(obj.GroupVersionKind(), name, types.JSONPatchType, o, "status")
	r.ctx = ctx
	return s.write(r, func(r *request) (*unstructured.Unstructured, error) {
		old, err := r.stored()
		if err != nil {
			return nil, err
		}
		stored := r.before
		if obj.GetResourceVersion() != stored.GetResourceVersion() {
			return nil, r.modified()
		}
		r.statusOnly = true
		return r.replacePatched(old, withField(stored.Object, "status", status))
	})
}
