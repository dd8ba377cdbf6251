package apiserver

import (
	"context"
	"encoding/json"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/addresses"
	"github.com/stagecraft-go/stagecraft/stage/lab/defaults"
)

var services = schema.GroupVersionKind{Version: "v1", Kind: "Service"}

// defaultRange is the name of the ServiceCIDR that kube-apiserver makes itself.
const defaultRange = "kubernetes"

// prepareAddresses creates the default ServiceCIDR, and the IPAddresses of Services that were there
// before the server.
func (s *Server) prepareAddresses(ctx context.Context) error {
	if err := s.keepRange(ctx); err != nil {
		return err
	}
	return s.repairAddresses(ctx)
}

// keepRange creates the default ServiceCIDR, and says that it is ready, unless it says something else.
func (s *Server) keepRange(ctx context.Context) error {
	r := named("networking.k8s.io/v1", "ServiceCIDR", "", defaultRange)
	r.Object["spec"] = map[string]any{"cidrs": []any{defaults.ServiceRange}}
	if err := ensure(ctx, s.cluster, r, "kube-apiserver"); err != nil {
		return err
	}
	stored, err := s.cluster.Get(ctx, addresses.Range, types.NamespacedName{Name: defaultRange})
	if err != nil {
		return err
	}
	conditions, _, _ := unstructured.NestedSlice(stored.Object, "status", "conditions")
	if len(conditions) > 0 || stored.GetDeletionTimestamp() != nil {
		return nil
	}
	data, err := json.Marshal(map[string]any{
		"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": map[string]any{"name": defaultRange},
		"status": map[string]any{"conditions": []any{map[string]any{
			"type": "Ready", "status": "True", "reason": "", "message": "Kubernetes default Service CIDR is ready", "lastTransitionTime": s.cluster.Now().UTC().Format(time.RFC3339)}}},
	})
	if err != nil {
		return err
	}
	force := true
	_, err = s.cluster.Patch(ctx, addresses.Range, types.NamespacedName{Name: defaultRange}, types.ApplyPatchType, data,
		metav1.PatchOptions{FieldManager: "kubernetes-service-cidr-controller", Force: &force}, "status")
	return err
}

// repairAddresses creates the IPAddresses that Services have lost.
func (s *Server) repairAddresses(ctx context.Context) error {
	found, err := s.cluster.Shared().List(ctx, services, "", metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range found.Items {
		for _, name := range addresses.Of(&found.Items[i]) {
			_, err := s.cluster.Shared().Get(ctx, addresses.Kind, types.NamespacedName{Name: name})
			if !apierrors.IsNotFound(err) {
				continue
			}
			address := addresses.New(name, &found.Items[i], s.cluster.Now())
			address.SetManagedFields(nil)
			if err := ensure(ctx, s.cluster, address, addresses.Manager); err != nil {
				return err
			}
		}
	}
	return nil
}

// restoreAddresses does what kube-apiserver does after a change of IPAddresses and their ranges.
func (s *Server) restoreAddresses(ctx context.Context, kind schema.GroupVersionKind) {
	if kind == addresses.Range {
		_ = s.keepRange(ctx)
		return
	}
	_ = s.repairAddresses(ctx)
}
