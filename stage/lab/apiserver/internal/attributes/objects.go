package attributes

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// Objects tell the plugins how to handle the objects of a cluster, which are fields for all kinds.
// Its versions are those of the cluster, which converts them. fill fills in the
// defaults of custom objects.
func Objects(c *memory.Cluster, fill func(*unstructured.Unstructured)) admission.ObjectInterfaces {
	return objects{c, fill}
}

type objects struct {
	cluster *memory.Cluster
	fill    func(*unstructured.Unstructured)
}

var _ admission.ObjectInterfaces = objects{}

func (o objects) GetObjectCreater() runtime.ObjectCreater                       { return o }
func (o objects) GetObjectTyper() runtime.ObjectTyper                           { return o }
func (o objects) GetObjectDefaulter() runtime.ObjectDefaulter                   { return o }
func (o objects) GetObjectConvertor() runtime.ObjectConvertor                   { return o }
func (o objects) GetEquivalentResourceMapper() runtime.EquivalentResourceMapper { return o }

// New returns an object without fields.
func (objects) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u, nil
}

func (objects) ObjectKinds(obj runtime.Object) ([]schema.GroupVersionKind, bool, error) {
	return []schema.GroupVersionKind{obj.GetObjectKind().GroupVersionKind()}, false, nil
}

func (objects) Recognizes(schema.GroupVersionKind) bool { return true }

// Default fills in the defaults of custom objects. Those of built-in kinds the cluster fills in when
// all webhooks have been called.
func (o objects) Default(obj runtime.Object) {
	if u, is := obj.(*unstructured.Unstructured); is {
		o.fill(u)
	}
}

// Convert gives an object the fields of another one, and leaves its kind.
func (o objects) Convert(in, out, _ any) error {
	from, isObject := in.(*unstructured.Unstructured)
	to, isTarget := out.(*unstructured.Unstructured)
	if !isObject || !isTarget {
		return fmt.Errorf("cannot convert a %T to a %T", in, out)
	}
	kind := to.GroupVersionKind()
	if kind != from.GroupVersionKind() && kind.GroupKind() == from.GroupVersionKind().GroupKind() {
		other, err := o.cluster.Convert(context.TODO(), from, kind.GroupVersion().String()) // the plugins give no context
		if err != nil {
			return err
		}
		from = other
	}
	to.Object = runtime.DeepCopyJSON(from.Object)
	if to.GroupVersionKind() != kind {
		to.SetGroupVersionKind(kind)
		o.fill(to)
	}
	return nil
}

func (o objects) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	kind, known := to.KindForGroupVersionKinds([]schema.GroupVersionKind{in.GetObjectKind().GroupVersionKind()})
	if !known {
		return nil, fmt.Errorf("no version of %s", in.GetObjectKind().GroupVersionKind())
	}
	out, err := o.New(kind)
	if err != nil {
		return nil, err
	}
	return out, o.Convert(in, out, nil)
}

func (objects) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

// EquivalentResourcesFor returns the versions of a resource.
func (o objects) EquivalentResourcesFor(r schema.GroupVersionResource, _ string) (all []schema.GroupVersionResource) {
	for _, k := range o.cluster.Kinds() {
		if k.Group == r.Group && k.Resource == r.Resource {
			all = append(all, k.GroupVersion().WithResource(k.Resource))
		}
	}
	return all
}

// ownKinds are the kinds of subresources that have an object of their own.
var ownKinds = map[string]schema.GroupVersionKind{
	"scale":    {Group: "autoscaling", Version: "v1", Kind: "Scale"},
	"binding":  {Version: "v1", Kind: "Binding"},
	"eviction": {Group: "policy", Version: "v1", Kind: "Eviction"},
	"token":    {Group: "authentication.k8s.io", Version: "v1", Kind: "TokenRequest"},
}

// KindFor returns the kind of a resource or of a subresource.
func (o objects) KindFor(r schema.GroupVersionResource, subresource string) schema.GroupVersionKind {
	if own, has := ownKinds[subresource]; has {
		return own
	}
	kinds := o.cluster.Kinds()
	i := slices.IndexFunc(kinds, func(k memory.Kind) bool { return k.GroupVersion() == r.GroupVersion() && k.Resource == r.Resource })
	if i < 0 {
		return schema.GroupVersionKind{}
	}
	return kinds[i].GroupVersionKind
}
