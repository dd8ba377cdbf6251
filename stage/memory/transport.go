package memory

import (
	"context"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/stage"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var (
	_ stage.Transport    = (*Cluster)(nil)
	_ stage.Impersonator = (*Cluster)(nil)
	_ stage.Sharer       = (*Cluster)(nil)
	_ stage.Impersonator = sharing{}
	_ stage.ValuePatcher = sharing{}
)

// As is [Cluster.Impersonate] as package stage asks for it.
func (c *Cluster) As(user string) stage.Writer { return c.Impersonate(user) }

// Share is [Cluster.Shared] as package stage asks for it. What it returns also takes patches as values: see [stage.ValuePatcher].
func (c *Cluster) Share() stage.Transport { return sharing{c.Shared()} }

// sharing is a type of its own so that a Patch of a type that embeds a Cluster is not passed over.
type sharing struct{ *Cluster }

func (s sharing) As(user string) stage.Writer { return sharing{s.Impersonate(user)} }

// PatchValue takes the patch as it is, but for an apply.
func (s sharing) PatchValue(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName, t types.PatchType, body any, o metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error) {
	if t == types.ApplyPatchType {
		data, err := object.AppendJSON(nil, body)
		if err != nil {
			return nil, malformed(err)
		}
		return s.Patch(ctx, gvk, name, t, data, o, subresources...)
	}
	return s.write(patchRequest(gvk, name, t, o, subresources), func(r *request) (*unstructured.Unstructured, error) {
		return r.patch(t, body)
	})
}
