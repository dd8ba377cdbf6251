package clientgo

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/testing"

	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/stagetest/fakes/internal/server"
)

// Attach makes a fake answer from a cluster, before all reactors that the fake has. Objects have
// the Go types of a scheme, such as k8s.io/client-go/kubernetes/scheme.Scheme; with a nil scheme,
// for the dynamic fake, they are unstructured. A resource that the cluster does not know is not
// found.
func Attach(fake *testing.Fake, cluster *memory.Cluster, scheme *runtime.Scheme) {
	r := reactor{server.Server{Cluster: cluster, Scheme: scheme}}
	fake.PrependReactor("*", "*", r.react)
	fake.PrependWatchReactor("*", r.watch)
}

// ListKinds returns the list kinds of all resources of a cluster, for
// dynamic/fake.NewSimpleDynamicClientWithCustomListKinds.
func ListKinds(cluster *memory.Cluster) map[schema.GroupVersionResource]string {
	kinds := map[schema.GroupVersionResource]string{}
	for _, k := range cluster.Kinds() {
		kinds[k.GroupVersion().WithResource(k.Resource)] = k.Kind + "List"
	}
	return kinds
}

// A reactor answers actions of a fake.
type reactor struct{ server.Server }

func (r reactor) react(action testing.Action) (handled bool, ret runtime.Object, err error) {
	if _, generic := action.(testing.GenericAction); generic {
		return false, nil, nil // logs, which a cluster in memory has not
	}
	target, err := r.target(action)
	if err != nil {
		return true, nil, err
	}
	switch a := action.(type) {
	case testing.CreateActionImpl:
		return r.created(a, target)
	case testing.UpdateActionImpl:
		return r.updated(a, target)
	case testing.PatchActionImpl:
		target.Name.Name = a.Name
		return r.one(r.Patch(context.Background(), target, a.PatchType, a.Patch, a.PatchOptions))
	case testing.DeleteActionImpl:
		return true, nil, r.Cluster.Delete(context.Background(), target.Kind, named(target, a.Name).Name, a.DeleteOptions)
	case testing.DeleteCollectionActionImpl:
		return true, nil, r.DeleteCollection(context.Background(), target, a.DeleteOptions, a.ListOptions)
	case testing.ListActionImpl:
		return r.list(a, target)
	case testing.GetActionImpl:
		return r.one(r.Get(context.Background(), named(target, a.Name)))
	}
	return false, nil, nil
}

// target returns what an action is about, without the name.
func (r reactor) target(a testing.Action) (server.Target, error) {
	kind, err := r.KindOf(a.GetResource())
	return server.Target{Kind: kind, Name: types.NamespacedName{Namespace: a.GetNamespace()}, Subresource: a.GetSubresource()}, err
}

func named(t server.Target, name string) server.Target {
	t.Name.Name = name
	return t
}

// one is an answer that consists of one object.
func (r reactor) one(u *unstructured.Unstructured, err error) (bool, runtime.Object, error) {
	if err != nil {
		return true, nil, err
	}
	obj, err := r.Typed(u)
	return true, obj, err
}

func (r reactor) created(a testing.CreateActionImpl, target server.Target) (bool, runtime.Object, error) {
	obj, err := sent(a.Object, target)
	if err != nil {
		return true, nil, err
	}
	target.Name.Name = obj.GetName()
	if a.Name != "" {
		target.Name.Name = a.Name
	}
	return r.one(r.Create(context.Background(), target, obj, a.CreateOptions))
}

func (r reactor) updated(a testing.UpdateActionImpl, target server.Target) (bool, runtime.Object, error) {
	obj, err := sent(a.Object, target)
	if err != nil {
		return true, nil, err
	}
	return r.one(r.Update(context.Background(), named(target, obj.GetName()), obj, a.UpdateOptions))
}

// sent returns the object of a request, in the namespace of the client. For the subresources scale,
// binding and eviction it has a kind of its own.
func sent(obj runtime.Object, t server.Target) (*unstructured.Unstructured, error) {
	kind := t.Kind
	if t.Subresource != "" && t.Subresource != "status" {
		kind = obj.GetObjectKind().GroupVersionKind()
	}
	u, err := server.Unstructured(obj, kind)
	if err == nil && u.GetNamespace() == "" {
		u.SetNamespace(t.Name.Namespace)
	}
	return u, err
}

func (r reactor) list(a testing.ListActionImpl, target server.Target) (bool, runtime.Object, error) {
	found, err := r.Cluster.List(context.Background(), target.Kind, target.Name.Namespace, a.ListOptions)
	if err != nil {
		return true, nil, err
	}
	obj, err := r.TypedList(found)
	return true, obj, err
}

func (r reactor) watch(action testing.Action) (bool, watch.Interface, error) {
	target, err := r.target(action)
	if err != nil {
		return true, nil, err
	}
	var o metav1.ListOptions
	if a, ok := action.(testing.WatchActionImpl); ok {
		o = a.ListOptions
	}
	changes, err := r.Watch(context.Background(), target, o, r.Typed)
	return true, changes, err
}
