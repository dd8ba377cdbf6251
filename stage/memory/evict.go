package memory

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/stagecraft-go/stagecraft/internal/object"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var budgets = schema.GroupResource{Group: "policy", Resource: "poddisruptionbudgets"}

// Evict deletes a Pod like the subresource eviction of an API server, with the condition
// DisruptionTarget. If a PodDisruptionBudget selects the Pod, it must allow the eviction, and then
// it allows one disruption less. If the budget does not allow the eviction, the error is
// TooManyRequests (429). A Pod that is Pending, has ended or is being deleted needs no budget. An
// unready Pod only needs a budget that has its desired number of healthy Pods, or that always
// allows the eviction of unready Pods.
//
// A controller writes the status of a budget, see package stage/lab/controllers/disruption. A
// budget without a status allows no eviction.
func (c *Cluster) Evict(ctx context.Context, pod types.NamespacedName, o metav1.DeleteOptions) error {
	r := request{
		ctx:     ctx,
		Request: Request{Verb: "create", Kind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Name: pod, Subresource: "eviction"},
		dryRun:  len(o.DryRun) > 0,
		special: true,
	}
	_, err := c.write(r, func(r *request) (*unstructured.Unstructured, error) { return nil, r.evict(o) })
	return err
}

func (r *request) evict(o metav1.DeleteOptions) error {
	pod, err := r.stored()
	if err != nil {
		return err
	}
	if err := r.checkPreconditions(pod.object(), o.Preconditions); err != nil {
		return err
	}
	if !needsNoBudget(pod.object()) {
		if err := r.spend(pod.object()); err != nil {
			return err
		}
	}
	if r.dryRun {
		return nil
	}
	r.disrupt(pod)
	r.delete(pod, o)
	return nil
}

func needsNoBudget(pod *unstructured.Unstructured) bool {
	phase, _ := object.String(pod.Object, "status", "phase")
	return phase == "Pending" || phase == "Succeeded" || phase == "Failed" || pod.GetDeletionTimestamp() != nil
}

// spend takes one disruption from the budget of a Pod.
func (r *request) spend(pod *unstructured.Unstructured) error {
	found := r.budgetsOf(pod)
	switch {
	case len(found) == 0:
		return nil
	case len(found) > 1:
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
			Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
		}}
	}
	budget := found[0].object().Object
	if !isReady(pod) && allowsUnready(budget) {
		return nil
	}
	if err := checkBudget(found[0].object()); err != nil || r.dryRun {
		return err
	}
	r.put(found[0], r.spent(budget, pod.GetName()))
	return nil
}

// budgetsOf returns the budgets that select a Pod. A budget with an invalid selector selects no
// Pod.
func (r *request) budgetsOf(pod *unstructured.Unstructured) (found []*record) {
	for _, b := range r.tables[budgets].within(pod.GetNamespace()) {
		var given *metav1.LabelSelector
		if m, ok := object.Map(b.object().Object, "spec", "selector"); ok {
			given = &metav1.LabelSelector{}
			if runtime.DefaultUnstructuredConverter.FromUnstructured(m, given) != nil {
				continue
			}
		}
		if selector, err := metav1.LabelSelectorAsSelector(given); err == nil && selector.Matches(labels.Set(pod.GetLabels())) {
			found = append(found, b)
		}
	}
	return found
}

func isReady(pod *unstructured.Unstructured) bool {
	status, _ := object.Map(pod.Object, "status")
	return conditionOf(status, "Ready")["status"] == "True"
}

// conditionOf returns a condition of a status; nil without one.
func conditionOf(status map[string]any, kind string) map[string]any {
	list, _ := object.Slice(status, "conditions")
	for _, v := range list {
		if c, _ := object.ToMap(v); c["type"] == kind {
			return c
		}
	}
	return nil
}

// allowsUnready reports whether a budget allows the eviction of Pods that are not ready.
func allowsUnready(budget map[string]any) bool {
	if policy, _ := object.String(budget, "spec", "unhealthyPodEvictionPolicy"); policy == "AlwaysAllow" {
		return true
	}
	healthy, desired := statusNumber(budget, "currentHealthy"), statusNumber(budget, "desiredHealthy")
	return healthy >= desired && desired > 0
}

func statusNumber(obj map[string]any, field string) int64 {
	n, _ := object.Int64(obj, "status", field)
	return n
}

// mostDisrupted is the largest number of Pods in status.disruptedPods of a budget.
const mostDisrupted = 2000

// checkBudget returns why a budget allows no disruption.
func checkBudget(budget *unstructured.Unstructured) error {
	obj, name := budget.Object, budget.GetName()
	refused := schema.GroupResource{Group: "policy", Resource: "poddisruptionbudget"}
	disrupted, _ := object.Map(obj, "status", "disruptedPods")
	switch allowed := statusNumber(obj, "disruptionsAllowed"); {
	case statusNumber(obj, "observedGeneration") < budget.GetGeneration():
		return overBudget(10, "The disruption budget "+name+" is still being processed by the server.")
	case allowed < 0:
		return apierrors.NewForbidden(refused, name, fmt.Errorf("pdb disruptions allowed is negative"))
	case len(disrupted) > mostDisrupted:
		return apierrors.NewForbidden(refused, name, fmt.Errorf("DisruptedPods map too big - too many evictions not confirmed by PDB controller"))
	case allowed == 0:
		return overBudget(0, reasonOf(obj, name))
	}
	return nil
}

// reasonOf says in the words of an API server why a budget does not allow a disruption.
func reasonOf(budget map[string]any, name string) string {
	status, _ := object.Map(budget, "status")
	c := conditionOf(status, "DisruptionAllowed")
	reason, _ := c["reason"].(string)
	message, _ := c["message"].(string)
	said := c["status"] == "False" && message != ""
	healthy, desired := statusNumber(budget, "currentHealthy"), statusNumber(budget, "desiredHealthy")
	switch {
	case said && reason == "SyncFailed":
		return fmt.Sprintf("The disruption budget %s does not allow evicting pods currently because it failed sync: %s", name, message)
	case healthy <= desired:
		return fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", name, desired, healthy)
	case said:
		return fmt.Sprintf("The disruption budget %s does not allow evicting pods currently (%s): %s", name, reason, message)
	}
	return fmt.Sprintf("The disruption budget %s does not allow evicting pods currently", name)
}

func overBudget(after int, cause string) error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", after)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: "DisruptionBudget", Message: cause})
	return err
}

// spent returns a budget with one disruption less, and with the Pod in status.disruptedPods.
func (r *request) spent(budget map[string]any, pod string) map[string]any {
	next := fork(budget)
	old, _ := object.Map(budget, "status")
	allowed := statusNumber(budget, "disruptionsAllowed") - 1
	disrupted, _ := object.Map(old, "disruptedPods")
	status := withField(old, "disruptionsAllowed", allowed)
	status["disruptedPods"] = withField(withMap(disrupted), pod, r.currentTimestamp())
	if allowed == 0 {
		c := map[string]any{
			"type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods", "message": "",
			"observedGeneration": old["observedGeneration"], "lastTransitionTime": r.currentTimestamp(),
		}
		status["conditions"] = withCondition(old, c)
	}
	next["status"] = status
	return next
}

func withMap(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// disrupt writes the condition DisruptionTarget of an evicted Pod.
func (r *request) disrupt(pod *record) {
	next := fork(pod.object().Object)
	old, _ := object.Map(next, "status")
	c := map[string]any{
		"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting",
		"lastTransitionTime": r.currentTimestamp(),
	}
	next["status"] = withField(withMap(old), "conditions", withCondition(old, c))
	r.put(pod, next)
}

// withCondition returns the conditions of a status with c, which replaces the condition of its type
// or comes last. If the status of the condition is the same, lastTransitionTime stays.
func withCondition(status, c map[string]any) []any {
	list, _ := object.Slice(status, "conditions")
	list = slices.Clone(list)
	old := conditionOf(status, c["type"].(string))
	if old != nil && old["status"] == c["status"] && old["lastTransitionTime"] != nil {
		c = maps.Clone(c)
		c["lastTransitionTime"] = old["lastTransitionTime"]
	}
	at := slices.IndexFunc(list, func(v any) bool { m, _ := object.ToMap(v); return m["type"] == c["type"] })
	if at < 0 {
		return append(list, c)
	}
	list[at] = c
	return list
}
