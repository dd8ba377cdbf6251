// Package roles has the controller of ClusterRoles with an aggregationRule, as kube-controller-manager
// has it: their rules are those of the ClusterRoles that the rule selects. The server of
// stage/lab/apiserver uses [Aggregate], so that a rule counts at once.
//
// # Usage
//
//	controllers := []reconcile.Controller{roles.Aggregation()}
//
// # Concurrency
//
// Aggregate is safe for concurrent use. The controller belongs to one loop.
package roles

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/selectors"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// Aggregation returns the controller that gives ClusterRoles with an aggregationRule their rules.
func Aggregation() reconcile.Controller {
	return reconcile.Controller{
		Name: "clusterrole-aggregation", For: kinds.ClusterRole,
		Watches: []reconcile.Watch{{Kind: kinds.ClusterRole, Map: func(cache *reconcile.Cache, _ reconcile.Change) (keys []types.NamespacedName) {
			for _, role := range cache.List(kinds.ClusterRole, "") {
				if aggregates(role) {
					keys = append(keys, types.NamespacedName{Name: role.GetName()})
				}
			}
			return keys
		}}},
		Reconcile: control.OnExisting(kinds.ClusterRole, func(c control.Call, role *unstructured.Unstructured) (reconcile.Result, error) {
			return reconcile.Result{}, aggregate(c.Context, c.Client, role, c.Cache.List(kinds.ClusterRole, ""))
		}),
	}
}

// mostRounds is how often Aggregate reads the roles: roles that select each other in a longer chain
// are complete after the next call.
const mostRounds = 10

// Aggregate does the same at once, for all ClusterRoles of a cluster.
func Aggregate(ctx context.Context, c transport.Transport) error {
	for range mostRounds {
		found, err := c.List(ctx, kinds.ClusterRole, "", metav1.ListOptions{})
		if err != nil {
			return err
		}
		all := make([]*unstructured.Unstructured, len(found.Items))
		for i := range found.Items {
			all[i] = &found.Items[i]
		}
		isDone := true
		for _, role := range all {
			if !isStale(role, all) {
				continue
			}
			isDone = false
			if err := aggregate(ctx, c, role, all); err != nil {
				return err
			}
		}
		if isDone {
			return nil
		}
	}
	return nil
}

func aggregates(role *unstructured.Unstructured) bool {
	return fields.Map(role.Object, "aggregationRule") != nil
}

// isStale reports whether a role does not have the rules of the roles that it selects.
func isStale(role *unstructured.Unstructured, all []*unstructured.Unstructured) bool {
	if !aggregates(role) || fields.IsTerminating(role) {
		return false
	}
	rules, stored := selected(role, all), fields.Slice(role.Object, "rules")
	return len(rules)+len(stored) > 0 && !object.DeepEqual(any(rules), any(stored))
}

// aggregate gives a role the rules of the roles that it selects.
func aggregate(ctx context.Context, c transport.Writer, role *unstructured.Unstructured, all []*unstructured.Unstructured) error {
	if !isStale(role, all) {
		return nil
	}
	rules := selected(role, all)
	patch, err := json.Marshal(map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": rules,
		"metadata": map[string]any{"name": role.GetName(), "uid": role.GetUID()}, // so that one that has gone is not made again
	})
	if err != nil {
		return err
	}
	force := true
	_, err = c.Patch(ctx, kinds.ClusterRole, types.NamespacedName{Name: role.GetName()}, types.ApplyPatchType, patch,
		metav1.PatchOptions{FieldManager: "clusterrole-aggregation-controller", Force: &force})
	if apierrors.IsConflict(err) {
		return nil // it has gone
	}
	return control.IgnoreNotFound(err)
}

// selected returns the rules of the roles that the selectors of a role select, each once, selector by
// selector and by name.
func selected(role *unstructured.Unstructured, all []*unstructured.Unstructured) []any {
	rules := []any{}
	sorted := slices.SortedFunc(slices.Values(all), func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	for _, given := range fields.Maps(role.Object, "aggregationRule", "clusterRoleSelectors") {
		selector := selectors.Read(given)
		for _, other := range sorted {
			if other.GetName() == role.GetName() || !selector.Matches(other) {
				continue
			}
			for _, rule := range fields.Slice(other.Object, "rules") {
				if !slices.ContainsFunc(rules, func(have any) bool { return object.DeepEqual(have, rule) }) {
					rules = append(rules, rule)
				}
			}
		}
	}
	return rules
}
