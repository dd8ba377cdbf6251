// Package passwords is a hunt whose finding testdata/script/hunt.txtar replays.
package passwords

import (
	"context"
	"os"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

var configMap, secret = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, schema.GroupVersionKind{Version: "v1", Kind: "Secret"}

// TestEachShopHasOnePassword finds that a crash between two writes leaves two Secrets. With FIXED=1 the Secret has
// a name of its own, so that it is created once.
func TestEachShopHasOnePassword(t *testing.T) {
	hunt.Test(t, hunt.Options{Runs: 50, Precious: []schema.GroupVersionKind{secret}}, func(r *hunt.Run) {
		r.Process("operator", func(p *hunt.Process) []reconcile.Controller {
			return []reconcile.Controller{{Name: "passwords", For: configMap, Reconcile: func(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
				return reconcile.Result{}, setPassword(ctx, p, q.Name)
			}}}
		})
		r.Apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: shop, labels: {site: shop}}}`)
	})
}

// setPassword creates the Secret of a shop, and then notes in the ConfigMap that it has done so.
func setPassword(ctx context.Context, p *hunt.Process, name types.NamespacedName) error {
	shop, err := p.Get(ctx, configMap, name)
	if err != nil || shop.GetLabels()["site"] == "" || shop.GetAnnotations()["done"] != "" {
		return nil
	}
	password := &unstructured.Unstructured{}
	password.SetGroupVersionKind(secret)
	password.SetNamespace(shop.GetNamespace())
	password.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(shop, configMap)})
	password.SetGenerateName(shop.GetName() + "-")
	if os.Getenv("FIXED") != "" {
		password.SetGenerateName("")
		password.SetName(shop.GetName() + "-password")
	}
	if _, err := p.Create(ctx, password, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	_, err = p.Patch(ctx, configMap, name, types.MergePatchType, []byte(`{"metadata":{"annotations":{"done":"true"}}}`), metav1.PatchOptions{})
	return err
}
