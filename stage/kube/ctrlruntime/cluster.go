package ctrlruntime

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// Cluster is a Kubernetes cluster, seen through a client or a manager of controller-runtime. It is
// safe for concurrent use.
type Cluster struct {
	// Users returns the client that writes as a user, for Stages that impersonate. [ForManager]
	// sets it. If it is nil, effects that impersonate are refused.
	Users transport.Impersonator

	client client.Client // writes
	reader client.Reader // reads single objects
	source source        // lists and watches
}

// A source answers lists and watches.
type source interface {
	List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error)
	Watch(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error)
}

var (
	_ transport.Transport    = (*Cluster)(nil)
	_ transport.Impersonator = (*Cluster)(nil)
)

// New returns the cluster that a client reads and writes.
func New(c client.Client) *Cluster {
	return &Cluster{client: c, reader: c, source: direct{c}}
}

// ForManager returns the cluster of a manager. Lists and watches wait until the manager has started
// its caches.
func ForManager(m manager.Manager) (*Cluster, error) {
	users, err := kube.NewForConfig(m.GetConfig())
	if err != nil {
		return nil, err
	}
	return &Cluster{Users: users, client: m.GetClient(), reader: m.GetAPIReader(), source: newCached(m.GetCache(), m.GetAPIReader())}, nil
}

// Get returns one object. It ignores the namespace of a kind without namespaces.
func (c *Cluster) Get(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName) (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(gvk)
	err := c.reader.Get(ctx, types.NamespacedName{Namespace: c.namespace(obj, name.Namespace), Name: name.Name}, obj)
	return result(obj, gvk, err)
}

// List returns the objects of a kind, in a namespace or in all if it is "". Caches and fake clients
// have no pages, and list all.
func (c *Cluster) List(ctx context.Context, gvk schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	return c.source.List(ctx, gvk, namespace, o)
}

// Watch reports changes of the objects of a kind, in a namespace or in all if it is "", since
// o.ResourceVersion. If that is "" or "0", it first reports all objects as Added. The cache of a
// manager can continue from the resourceVersion of a recent list; any other version, such as the
// version of an object, is Expired.
func (c *Cluster) Watch(ctx context.Context, gvk schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error) {
	return c.source.Watch(ctx, gvk, namespace, o)
}

// Create creates an object and returns it as stored. Obj is not changed.
func (c *Cluster) Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	obj = c.placed(obj)
	err := c.client.Create(ctx, obj, &client.CreateOptions{DryRun: o.DryRun, FieldManager: o.FieldManager, FieldValidation: o.FieldValidation, Raw: &o})
	return result(obj, obj.GroupVersionKind(), err)
}

// Update replaces an object, or a subresource of it, and returns it as stored. Obj is not changed.
func (c *Cluster) Update(ctx context.Context, obj *unstructured.Unstructured, o metav1.UpdateOptions, subresources ...string) (*unstructured.Unstructured, error) {
	obj = c.placed(obj)
	options := client.UpdateOptions{DryRun: o.DryRun, FieldManager: o.FieldManager, FieldValidation: o.FieldValidation, Raw: &o}
	sub, err := single(subresources)
	switch {
	case err != nil:
	case sub == "":
		err = c.client.Update(ctx, obj, &options)
	default:
		err = c.client.SubResource(sub).Update(ctx, obj, &client.SubResourceUpdateOptions{UpdateOptions: options})
	}
	return result(obj, obj.GroupVersionKind(), err)
}

// Patch changes an object, or a subresource of it, and returns it as stored.
func (c *Cluster) Patch(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(gvk)
	obj.SetNamespace(c.namespace(obj, name.Namespace))
	obj.SetName(name.Name)
	options := client.PatchOptions{DryRun: o.DryRun, Force: o.Force, FieldManager: o.FieldManager, FieldValidation: o.FieldValidation, Raw: &o}
	sub, err := single(subresources)
	switch {
	case err != nil:
	case sub == "":
		err = c.client.Patch(ctx, obj, client.RawPatch(t, data), &options)
	default:
		err = c.client.SubResource(sub).Patch(ctx, obj, client.RawPatch(t, data), &client.SubResourcePatchOptions{PatchOptions: options})
	}
	return result(obj, gvk, err)
}

// Delete deletes an object.
func (c *Cluster) Delete(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName, o metav1.DeleteOptions) error {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(gvk)
	obj.SetNamespace(c.namespace(obj, name.Namespace))
	obj.SetName(name.Name)
	return known(gvk, c.client.Delete(ctx, obj, &client.DeleteOptions{
		GracePeriodSeconds: o.GracePeriodSeconds, Preconditions: o.Preconditions, PropagationPolicy: o.PropagationPolicy, DryRun: o.DryRun, Raw: &o,
	}))
}

// As returns the cluster as another user writes it.
func (c *Cluster) As(user string) transport.Writer {
	if c.Users == nil {
		return kube.New(nil, nil).As(user) // refuses
	}
	return c.Users.As(user)
}

// placed returns a copy of an object, without a namespace if its kind has none.
func (c *Cluster) placed(obj *unstructured.Unstructured) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	obj.SetNamespace(c.namespace(obj, obj.GetNamespace()))
	return obj
}

func (c *Cluster) namespace(obj *unstructured.Unstructured, namespace string) string {
	if namespace == "" {
		return ""
	}
	if namespaced, err := c.client.IsObjectNamespaced(obj); err == nil && !namespaced {
		return ""
	}
	return namespace
}

func single(subresources []string) (string, error) {
	switch len(subresources) {
	case 0:
		return "", nil
	case 1:
		return subresources[0], nil
	}
	return "", fmt.Errorf("controller-runtime's clients know no subresource of a subresource: %q", subresources)
}

// result returns the answer of a request with its kind, which some clients leave out.
func result(obj *unstructured.Unstructured, gvk schema.GroupVersionKind, err error) (*unstructured.Unstructured, error) {
	if err != nil {
		return nil, known(gvk, err)
	}
	obj.SetGroupVersionKind(gvk)
	return obj, nil
}

// known turns the error for a kind that is not served into the answer of an API server: the
// resource is not found.
func known(gvk schema.GroupVersionKind, err error) error {
	var discovery *meta.NoKindMatchError
	if !meta.IsNoMatchError(err) && !errors.As(err, &discovery) {
		return err
	}
	status := apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, "")
	status.ErrStatus.Message = fmt.Sprintf("the server could not find the requested resource: %s is no known kind", gvk)
	return status
}
