package reconcile_test

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// A controller that deletes ConfigMaps an hour after their creation, on a clock that the program owns.
func ExampleLoop() {
	ctx, now := context.Background(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	cluster := memory.New(memory.Options{Now: func() time.Time { return now }})
	configMaps := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	expiry := reconcile.Controller{
		Name: "expiry",
		For:  configMaps,
		Reconcile: func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			obj := r.Cache.Get(configMaps, r.Name)
			if obj == nil {
				return reconcile.Result{}, nil
			}
			if left := time.Hour - r.Now.Sub(obj.GetCreationTimestamp().Time); left > 0 {
				return reconcile.Result{After: left}, nil
			}
			return reconcile.Result{}, r.Client.Delete(ctx, configMaps, r.Name, metav1.DeleteOptions{})
		},
	}
	loop := reconcile.NewLoop(cluster, reconcile.Options{}, expiry)

	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "cache", "namespace": "default"}}}
	obj, err := cluster.Create(ctx, obj, metav1.CreateOptions{})
	if err != nil {
		panic(err)
	}
	loop.Observe(watch.Event{Type: watch.Added, Object: obj}, now) // events come from a watch of each of loop.Kinds()
	for at, ok := loop.NextDue(); ok; at, ok = loop.NextDue() {
		now = at // time passes at once
		loop.Step(ctx, now)
	}
	_, err = cluster.Get(ctx, configMaps, types.NamespacedName{Namespace: "default", Name: "cache"})
	fmt.Println(now.Format(time.TimeOnly), err)
	// Output: 01:00:00 configmaps "cache" not found
}
