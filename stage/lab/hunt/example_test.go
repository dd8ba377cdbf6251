package hunt_test

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// A controller creates a Secret with a generated name, and then notes in the ConfigMap that it has done
// so. If it crashes between the two writes, it creates a second Secret. In a test, hunt.Test does the
// same with the name of the test.
func ExampleSearch() {
	configMap, secret := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	report, err := hunt.Search(hunt.Options{Runs: 50, Precious: []schema.GroupVersionKind{secret}}, func(r *hunt.Run) {
		r.Process("operator", func(p *hunt.Process) []reconcile.Controller {
			return []reconcile.Controller{{Name: "passwords", For: configMap, Reconcile: func(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
				site, err := p.Get(ctx, configMap, q.Name)
				if err != nil || site.GetNamespace() != "default" || site.GetLabels()["site"] == "" || site.GetAnnotations()["done"] != "" {
					return reconcile.Result{}, nil
				}
				password := &unstructured.Unstructured{}
				password.SetGroupVersionKind(secret)
				password.SetNamespace(site.GetNamespace())
				password.SetGenerateName(site.GetName() + "-")
				password.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(site, configMap)})
				if _, err := p.Create(ctx, password, metav1.CreateOptions{}); err != nil {
					return reconcile.Result{}, err
				}
				_, err = p.Patch(ctx, configMap, q.Name, types.MergePatchType, []byte(`{"metadata":{"annotations":{"done":"true"}}}`), metav1.PatchOptions{})
				return reconcile.Result{}, err
			}}}
		})
		r.Apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: shop, labels: {site: shop}}}`)
	})
	if err != nil {
		panic(err)
	}
	for _, f := range report.Failures {
		fmt.Println(f.Check, f.Kind)
		fmt.Println(f.Outcome.Plan.Faults)
	}
	// Output:
	// the same end Secret
	// [crash-after operator passwords default/shop create Secret #1]
}
