package labtest

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
)

// A reference identifies an object by kind, namespace and name.
type reference struct {
	schema.GroupVersionKind
	types.NamespacedName
}

func (r reference) String() string { return r.Kind + " " + r.NamespacedName.String() }

// referenceOf returns the reference of an object. Its namespace is default if the object has none,
// which kinds without namespaces ignore.
func referenceOf(obj *unstructured.Unstructured) reference {
	name := types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	if name.Namespace == "" {
		name.Namespace = metav1.NamespaceDefault
	}
	return reference{obj.GroupVersionKind(), name}
}

// Get returns an object as it is now. The name is NAME, in the namespace default, or
// NAMESPACE/NAME. It fails the test if the object does not exist.
func (l *Lab) Get(apiVersion, kind, name string) *unstructured.Unstructured {
	l.t.Helper()
	namespace, rest, found := strings.Cut(name, "/")
	if !found {
		namespace, rest = metav1.NamespaceDefault, name
	}
	key := types.NamespacedName{Namespace: namespace, Name: rest}
	obj, err := l.get(reference{schema.FromAPIVersionAndKind(apiVersion, kind), key})
	l.must(err)
	return obj
}

func (l *Lab) get(ref reference) (*unstructured.Unstructured, error) {
	return l.Cluster().Get(context.Background(), ref.GroupVersionKind, ref.NamespacedName)
}

// List returns the objects of a kind in all namespaces whose labels match a selector, such as
// "app=web" or "" for all, ordered by namespace and name.
func (l *Lab) List(apiVersion, kind, labels string) []*unstructured.Unstructured {
	l.t.Helper()
	gvk := schema.FromAPIVersionAndKind(apiVersion, kind)
	found, err := l.Cluster().List(context.Background(), gvk, "", metav1.ListOptions{LabelSelector: labels})
	l.must(err)
	objs := make([]*unstructured.Unstructured, len(found.Items))
	for i := range found.Items {
		objs[i] = &found.Items[i]
	}
	return objs
}

// Delete requests the deletion of objects, as a user would. It can take virtual time until they are
// gone. It uses only kind, namespace and name of the objects. It fails the test if one of them does
// not exist. WaitCurrent no longer waits for them.
func (l *Lab) Delete(objs ...runtime.Object) {
	l.t.Helper()
	for _, obj := range objs {
		u, err := kstatustest.Open(obj)
		l.must(err)
		ref := referenceOf(u)
		stored, err := l.get(ref)
		l.must(err)
		l.must(l.Cluster().Delete(context.Background(), ref.GroupVersionKind, ref.NamespacedName, metav1.DeleteOptions{}))
		l.applied = slices.DeleteFunc(l.applied, func(r reference) bool { return r == referenceOf(stored) })
	}
}
