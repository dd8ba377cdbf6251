// Package namespaces has the controllers that give each Namespace its ServiceAccount default and its
// ConfigMap kube-root-ca.crt, as kube-controller-manager does. The server of stage/lab/apiserver
// uses [Provision], so that a Namespace which is made over HTTP has both at once.
//
// # Usage
//
//	controllers := []reconcile.Controller{namespaces.ServiceAccounts(), namespaces.RootCertificates()}
//
// # Concurrency
//
// The functions are safe for concurrent use. The controllers that they return belong to one loop.
package namespaces

import (
	"context"
	"encoding/json"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// The objects that each Namespace has.
const (
	ServiceAccount = "default"
	ConfigMap      = "kube-root-ca.crt"
)

// ServiceAccounts returns the controller that creates the ServiceAccount default of each Namespace,
// and creates it again after its deletion.
func ServiceAccounts() reconcile.Controller {
	return reconcile.Controller{
		Name: "serviceaccount", For: kinds.Namespace,
		Watches: []reconcile.Watch{{Kind: kinds.ServiceAccount, Map: namespaceOf(ServiceAccount)}},
		Reconcile: control.OnExisting(kinds.Namespace, func(c control.Call, ns *unstructured.Unstructured) (reconcile.Result, error) {
			if c.Cache.Get(kinds.ServiceAccount, types.NamespacedName{Namespace: ns.GetName(), Name: ServiceAccount}) != nil || fields.IsTerminating(ns) {
				return reconcile.Result{}, nil
			}
			return reconcile.Result{}, ensure(c.Context, c.Client, serviceAccount(ns.GetName()))
		}),
	}
}

// RootCertificates returns the controller that creates the ConfigMap kube-root-ca.crt of each
// Namespace, and restores it after a change. The certificate is that of the ConfigMap in kube-system,
// where the server of stage/lab/apiserver writes its own; without one it is empty.
func RootCertificates() reconcile.Controller {
	return reconcile.Controller{
		Name: "root-ca-certificate-publisher", For: kinds.Namespace,
		Watches: []reconcile.Watch{{Kind: kinds.ConfigMap, Map: namespaceOf(ConfigMap)}},
		Reconcile: control.OnExisting(kinds.Namespace, func(c control.Call, ns *unstructured.Unstructured) (reconcile.Result, error) {
			if fields.IsTerminating(ns) {
				return reconcile.Result{}, nil
			}
			certificate := ""
			if first := c.Cache.Get(kinds.ConfigMap, types.NamespacedName{Namespace: metav1.NamespaceSystem, Name: ConfigMap}); first != nil {
				certificate = fields.String(first.Object, "data", "ca.crt")
			}
			stored := c.Cache.Get(kinds.ConfigMap, types.NamespacedName{Namespace: ns.GetName(), Name: ConfigMap})
			return reconcile.Result{}, publish(c.Context, c.Client, published{ns.GetName(), certificate, stored})
		}),
	}
}

// namespaceOf returns the Map of a watch for objects with a name: their Namespace, or all of them for
// the ConfigMap from which they get the certificate.
func namespaceOf(name string) func(*reconcile.Cache, reconcile.Change) []types.NamespacedName {
	return func(cache *reconcile.Cache, ch reconcile.Change) (keys []types.NamespacedName) {
		switch {
		case ch.Object().GetName() != name:
			return nil
		case name == ServiceAccount || ch.Object().GetNamespace() != metav1.NamespaceSystem:
			return []types.NamespacedName{{Name: ch.Object().GetNamespace()}}
		}
		for _, ns := range cache.List(kinds.Namespace, "") {
			keys = append(keys, types.NamespacedName{Name: ns.GetName()})
		}
		return keys
	}
}

// Provision creates both objects of a Namespace where they are missing, and restores the ConfigMap.
// The certificate is in PEM; if it is "", the ConfigMap of a Namespace that has one stays as it is.
func Provision(ctx context.Context, c transport.Transport, namespace, certificate string) error {
	if err := ensure(ctx, c, serviceAccount(namespace)); err != nil {
		return err
	}
	stored, err := c.Get(ctx, kinds.ConfigMap, types.NamespacedName{Namespace: namespace, Name: ConfigMap})
	switch {
	case apierrors.IsNotFound(err):
		stored = nil
	case err != nil || certificate == "":
		return err
	}
	return publish(ctx, c, published{namespace, certificate, stored})
}

// published is a certificate for a Namespace, and the ConfigMap that it has.
type published struct {
	namespace, certificate string
	stored                 *unstructured.Unstructured // nil: none
}

// publish creates the ConfigMap, or gives the stored one its data.
func publish(ctx context.Context, c transport.Writer, p published) error {
	if p.stored == nil {
		return ensure(ctx, c, configMap(p.namespace, p.certificate))
	}
	if data := fields.Map(p.stored.Object, "data"); len(data) == 1 && fields.Value(p.stored.Object, "data", "ca.crt") == any(p.certificate) {
		return nil
	}
	patch, err := json.Marshal([]any{map[string]any{"op": "add", "path": "/data", "value": map[string]any{"ca.crt": p.certificate}}})
	if err != nil {
		return err
	}
	name := types.NamespacedName{Namespace: p.namespace, Name: ConfigMap}
	_, err = c.Patch(ctx, kinds.ConfigMap, name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: control.ControllerManager})
	return control.IgnoreNotFound(err)
}

// ensure creates an object unless it exists, or its Namespace is on its way out.
func ensure(ctx context.Context, c transport.Writer, obj *unstructured.Unstructured) error {
	_, err := c.Create(ctx, obj, metav1.CreateOptions{FieldManager: control.ControllerManager})
	if apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, "NamespaceTerminating") {
		return nil
	}
	return err
}

func serviceAccount(namespace string) *unstructured.Unstructured {
	return named("ServiceAccount", namespace, ServiceAccount)
}

func configMap(namespace, certificate string) *unstructured.Unstructured {
	u := named("ConfigMap", namespace, ConfigMap)
	u.SetAnnotations(map[string]string{"kubernetes.io/description": "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. " +
		"No other usage is guaranteed across distributions of Kubernetes clusters."})
	u.Object["data"] = map[string]any{"ca.crt": certificate}
	return u
}

func named(kind, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind}}
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}
