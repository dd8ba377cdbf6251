package policies

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// params are the objects that a write has found, which must not be changed.
type params []*unstructured.Unstructured

// An informer knows the parameters that a write has found, and never learns anything new.
type informer struct {
	objects   params
	resource  memory.Kind
	namespace string // "": all
}

var (
	_ informers.GenericInformer = informer{}
	_ cache.GenericLister       = informer{}
)

func (i informer) Informer() cache.SharedIndexInformer { return synced{} }
func (i informer) Lister() cache.GenericLister         { return i }

func (i informer) ByNamespace(namespace string) cache.GenericNamespaceLister {
	i.namespace = namespace
	return i
}

// List returns the objects that a selector selects, each once.
func (i informer) List(selector labels.Selector) (all []runtime.Object, err error) {
	seen := map[*unstructured.Unstructured]bool{}
	for _, u := range i.objects {
		if i.has(u) && selector.Matches(labels.Set(u.GetLabels())) && !seen[u] {
			seen[u] = true
			all = append(all, u)
		}
	}
	return all, nil
}

func (i informer) Get(name string) (runtime.Object, error) {
	for _, u := range i.objects {
		if i.has(u) && u.GetName() == name {
			return u, nil
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: i.resource.Group, Resource: i.resource.Resource}, name)
}

func (i informer) has(u *unstructured.Unstructured) bool {
	return i.namespace == "" || u.GetNamespace() == i.namespace
}

// synced is an informer of which it is only asked whether it is ready.
type synced struct{ cache.SharedIndexInformer }

func (synced) HasSynced() bool { return true }
