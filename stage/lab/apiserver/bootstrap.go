package apiserver

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/addresses"
	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/certificates"
	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/rbac"
	provisioning "github.com/stagecraft-go/stagecraft/stage/lab/controllers/namespaces"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/roles"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// systemNamespaces are those that every cluster has.
var systemNamespaces = []string{"default", "kube-system", "kube-public", "kube-node-lease"}

// bootstrap creates the namespaces that every cluster has, the Service of kube-apiserver, and what
// each namespace has.
func (s *Server) bootstrap() error {
	ctx := context.Background()
	for _, name := range systemNamespaces {
		if err := ensure(ctx, s.cluster, named("v1", "Namespace", "", name), "kube-apiserver"); err != nil {
			return err
		}
	}
	if err := s.prepareAddresses(ctx); err != nil {
		return err
	}
	if err := ensure(ctx, s.cluster, ownService(), "kube-apiserver"); err != nil {
		return err
	}
	if err := s.createBorn(ctx); err != nil {
		return err
	}
	if s.roles != nil {
		if err := rbac.Bootstrap(ctx, s.cluster); err != nil {
			return err
		}
	}
	if s.bare {
		return nil
	}
	if s.roles != nil {
		if err := roles.Aggregate(ctx, s.cluster); err != nil {
			return err
		}
	}
	found, err := s.cluster.List(ctx, namespaces, "", metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range found.Items {
		if err := provisioning.Provision(ctx, s.cluster, found.Items[i].GetName(), s.ca); err != nil {
			return err
		}
	}
	return nil
}

// ownService is the Service by which Pods reach kube-apiserver, which creates it itself. Its address is
// the first of the range of package stage/lab/controllers/services.
func ownService() *unstructured.Unstructured {
	const address = "10.96.0.1"
	u := named("v1", "Service", metav1.NamespaceDefault, "kubernetes")
	u.SetLabels(map[string]string{"component": "apiserver", "provider": "kubernetes"})
	u.Object["spec"] = map[string]any{
		"type": "ClusterIP", "clusterIP": address, "clusterIPs": []any{address}, "ipFamilies": []any{"IPv4"}, "ipFamilyPolicy": "SingleStack",
		"internalTrafficPolicy": "Cluster", "sessionAffinity": "None",
		"ports": []any{map[string]any{"name": "https", "protocol": "TCP", "port": int64(443), "targetPort": int64(6443)}},
	}
	return u
}

// clusterRoles are those that can select each other by an aggregationRule.
var clusterRoles = schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}

// restore does what controllers of kube-controller-manager do at once after a request: it has been
// answered, and the next change tries again.
func (s *Server) restore(c *call, verb string) {
	if !s.bare && c.of.kind == accounts && isDeletion(verb) {
		_ = s.keepTokens(context.WithoutCancel(c.r.Context()), c.namespace)
	}
	switch {
	case !s.bare && c.of.kind == secrets && stores(verb):
		_ = s.keepTokenOf(context.WithoutCancel(c.r.Context()), types.NamespacedName{Namespace: c.namespace, Name: cmp.Or(c.name, c.made)})
	case c.keeps(verb):
		_ = provisioning.Provision(c.ctx, s.cluster, c.namespace, s.ca)
	case s.roles != nil && !s.bare && c.of.kind == clusterRoles && (stores(verb) || isDeletion(verb)):
		_ = roles.Aggregate(context.WithoutCancel(c.r.Context()), s.cluster)
	case !s.bare && c.of.kind == validatingPolicies && stores(verb):
		_ = s.checkTypes(context.WithoutCancel(c.r.Context()), cmp.Or(c.name, c.made))
	case (c.of.kind == addresses.Kind || c.of.kind == addresses.Range) && isDeletion(verb):
		s.restoreAddresses(context.WithoutCancel(c.r.Context()), c.of.kind)
	case decidesAPIServices(c.of.kind) && (stores(verb) || isDeletion(verb)):
		_ = s.checkAPIServices(context.WithoutCancel(c.r.Context()))
	case !s.bare && c.of.kind == certificates.Kind && stores(verb):
		_ = s.certify(context.WithoutCancel(c.r.Context()), cmp.Or(c.name, c.made))
	}
}

// stores reports whether a verb makes a new state of an object.
func stores(verb string) bool { return verb == "create" || verb == "update" || verb == "patch" }

func isDeletion(verb string) bool { return verb == "delete" || verb == "deletecollection" }

var configMaps = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

// keeps reports whether a request changes what each namespace has, so that it is to be restored.
func (c *call) keeps(verb string) bool {
	switch {
	case c.bare || verb == "get" || verb == "list" || verb == "watch" || verb == "create":
		return false
	case c.of.kind == configMaps:
		return c.name == "" || c.name == provisioning.ConfigMap
	}
	return c.of.kind == accounts && (c.name == "" || c.name == provisioning.ServiceAccount)
}

// ensure creates an object as a field manager, unless it exists, or its namespace is on its way out.
func ensure(ctx context.Context, c *memory.Cluster, u *unstructured.Unstructured, manager string) error {
	// A Create of what exists may fail otherwise: the address of its Service is taken, by itself.
	if _, err := c.Get(ctx, u.GroupVersionKind(), types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}); err == nil {
		return nil
	}
	_, err := c.Create(ctx, u, metav1.CreateOptions{FieldManager: manager})
	if apierrors.IsAlreadyExists(err) || apierrors.HasStatusCause(err, "NamespaceTerminating") {
		return nil
	}
	if err != nil {
		return fmt.Errorf("creating %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	return nil
}

func named(version, kind, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind}}
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}
