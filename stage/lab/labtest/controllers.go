package labtest

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// Controllers returns the default controllers of a lab: controllers.All, and a stand-in for Ingress.
func Controllers() []reconcile.Controller { return defaultControllers(controllers.Options{}) }

func defaultControllers(o controllers.Options) []reconcile.Controller {
	return append(controllers.All(o), StandIns(
		schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
	)...)
}

// StandIns returns a controller for each of some kinds, built-in or custom, whose real controllers
// do not run in the lab. It gives each object the status that kstatustest.MakeCurrent writes, when
// the object is created and when its spec changes. Other objects that wait for it can continue. The
// work that the object asks for is not done, and numbers in its status are invented.
func StandIns(kinds ...schema.GroupVersionKind) []reconcile.Controller {
	all := make([]reconcile.Controller, len(kinds))
	for i, kind := range kinds {
		all[i] = reconcile.Controller{Name: "stand-in for " + kind.GroupKind().String(), For: kind, Reconcile: standIn(kind)}
	}
	return all
}

func standIn(kind schema.GroupVersionKind) func(context.Context, reconcile.Request) (reconcile.Result, error) {
	return func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		obj := r.Cache.Get(kind, r.Name)
		if obj == nil || obj.GetDeletionTimestamp() != nil || current(obj) {
			return reconcile.Result{}, nil
		}
		err := writeStatus(ctx, r, obj, "status")
		if apierrors.IsNotFound(err) {
			err = writeStatus(ctx, r, obj)
		}
		if apierrors.IsNotFound(err) {
			return reconcile.Result{}, nil // it is gone
		}
		return reconcile.Result{}, err
	}
}

// writeStatus makes an object current. It writes to the status subresource, or to the object if its
// kind has no such subresource.
func writeStatus(ctx context.Context, r reconcile.Request, obj *unstructured.Unstructured, subresources ...string) error {
	made, err := inState(obj, kstatustest.Current, r.Now, len(subresources) > 0)
	if err != nil {
		return err
	}
	ops := []any{
		map[string]any{"op": "add", "path": "/status", "value": made.Object["status"]},
		map[string]any{"op": "replace", "path": "/metadata/resourceVersion", "value": obj.GetResourceVersion()},
	}
	_, err = r.Client.Patch(ctx, obj.GroupVersionKind(), r.Name, types.JSONPatchType, toJSON(ops), metav1.PatchOptions{}, subresources...)
	return err
}

// inState returns a copy of an object in a state. If the status is not a subresource, each write to
// it increments the generation, so the copy has no observed generation.
func inState(obj *unstructured.Unstructured, s kstatustest.State, now time.Time, apart bool) (*unstructured.Unstructured, error) {
	made := obj.DeepCopy()
	if !apart {
		unstructured.RemoveNestedField(made.Object, "metadata", "generation")
		unstructured.RemoveNestedField(made.Object, "status", "observedGeneration")
	}
	return made, kstatustest.Make(made, s, kstatustest.Options{Now: now})
}
