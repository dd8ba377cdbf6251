package memory

import (
	"context"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// A Scale is a change of an object through its subresource scale.
type Scale struct {
	Path            []string // path of the desired number of replicas, not empty
	Replicas        int64
	ResourceVersion string // of the object; "" and "0" for any
	Apply, Force    bool   // by server-side apply, which then has no ResourceVersion
}

// Scale changes the desired replicas of an object, like the subresource scale of an API server, and
// returns the stored object. The caller must know that the kind has a scale, and its path. Hooks
// see the object, with the subresource scale.
func (c *Cluster) Scale(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName, s Scale, o metav1.UpdateOptions) (*unstructured.Unstructured, error) {
	r := request{
		ctx:     ctx,
		Request: Request{Verb: "update", Kind: gvk, Name: name, Subresource: "scale"},
		manager: o.FieldManager,
		dryRun:  len(o.DryRun) > 0,
		special: true,
	}
	if s.Apply {
		r.Verb = "apply"
	}
	return c.write(r, func(r *request) (*unstructured.Unstructured, error) {
		old, err := r.stored()
		if err != nil {
			return nil, err
		}
		if s.Apply {
			return r.applyScale(old, s)
		}
		next := withFieldAt(r.before.Object, s.Path, s.Replicas)
		if s.ResourceVersion != "" {
			next["metadata"] = withField(metadataOf(next), "resourceVersion", s.ResourceVersion)
		}
		return r.replace(old, next)
	})
}

// applyScale applies a configuration that has only the replicas.
func (r *request) applyScale(old *record, s Scale) (*unstructured.Unstructured, error) {
	before := r.before.Object
	config := withFieldAt(map[string]any{"apiVersion": before["apiVersion"], "kind": before["kind"], "metadata": map[string]any{"name": r.Name.Name}}, s.Path, s.Replicas)
	next, err := r.configured(before, config, s.Force)
	if err != nil {
		return nil, err
	}
	return r.replace(old, withMetadata(next))
}

// withFieldAt is a copy of a map with a field at a path.
func withFieldAt(m map[string]any, path []string, v any) map[string]any {
	m = maps.Clone(m)
	if m == nil {
		m = map[string]any{}
	}
	if len(path) > 1 {
		inner, _ := m[path[0]].(map[string]any)
		v = withFieldAt(inner, path[1:], v)
	}
	m[path[0]] = v
	return m
}
