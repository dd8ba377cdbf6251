package disruption

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// Budgets returns the controller that writes the status of PodDisruptionBudgets: how many Pods are
// expected, desired and healthy, and how many may be disrupted.
func Budgets() reconcile.Controller {
	nothing := func(*reconcile.Cache, reconcile.Change) []types.NamespacedName { return nil }
	return reconcile.Controller{
		Name: "disruption", Component: "controllermanager", For: kinds.PodDisruptionBudget, // including its own writes: they count its Events
		Watches: []reconcile.Watch{
			{Kind: kinds.Pod, Map: budgetsOfPod},
			{Kind: kinds.ReplicaSet, Map: nothing}, // the others are read only, as in Kubernetes
			{Kind: kinds.Deployment, Map: nothing},
			{Kind: kinds.StatefulSet, Map: nothing},
			{Kind: kinds.ReplicationController, Map: nothing},
		},
		Reconcile: control.OnExisting(kinds.PodDisruptionBudget, reconcileBudget),
	}
}

var budgetsBySelector = &reconcile.SelectorIndex{Kind: kinds.PodDisruptionBudget, Selector: func(budget *unstructured.Unstructured) labels.Selector {
	selector, err := selectorOf(budget)
	if err != nil {
		return nil
	}
	return selector
}}

// budgetsOfPod returns the budgets that select a Pod. One that it has left by a new label does not
// hear of it, as in Kubernetes.
func budgetsOfPod(c *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
	return control.NamesOf(c.Selecting(budgetsBySelector, ch.Object()))
}

// selectorOf returns the selector of a budget. An empty selector selects all Pods of the namespace;
// a missing one selects no Pod.
func selectorOf(budget *unstructured.Unstructured) (labels.Selector, error) {
	m := fields.Map(budget.Object, "spec", "selector")
	if m == nil {
		return labels.Nothing(), nil
	}
	var given metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, &given); err != nil {
		return nil, err
	}
	return metav1.LabelSelectorAsSelector(&given)
}

func reconcileBudget(c control.Call, budget *unstructured.Unstructured) (reconcile.Result, error) {
	status, after, err := statusOf(c, budget)
	if err != nil {
		return reconcile.Result{}, c.WriteStatus(budget, failed(c, budget, err))
	}
	return reconcile.Result{After: after}, c.WriteStatus(budget, status)
}

// statusOf returns the status of a budget, and after which time it changes by itself.
func statusOf(c control.Call, budget *unstructured.Unstructured) (control.Status, time.Duration, error) {
	selector, err := selectorOf(budget)
	if err != nil {
		c.Record(budget, "Warning", "NoPods", fmt.Sprintf("Failed to get pods: %v", err))
		return nil, 0, err
	}
	selected := pods.OfAll(c.Cache.Select(kinds.Pod, budget.GetNamespace(), selector))
	if len(selected) == 0 {
		c.Record(budget, "Normal", "NoPods", "No matching pods found")
	}
	expected, desired, err := wanted(c, budget, selected)
	if err != nil {
		c.Record(budget, "Warning", "CalculateExpectedPodCountFailed", fmt.Sprintf("Failed to calculate the number of expected pods: %v", err))
		return nil, 0, err
	}
	disrupted, after := aboutToGo(c, budget, selected)
	healthy := int64(0)
	for _, p := range selected {
		if disrupted[p.GetName()] == nil && !p.IsTerminating() && p.IsReady() {
			healthy++
		}
	}
	return newStatus(c, budget, counts{expected, desired, healthy, disrupted}), after, nil
}

// counts are the Pod counts of a budget.
type counts struct {
	expected, desired, healthy int64
	disrupted                  map[string]any // times by the names of Pods
}

func newStatus(c control.Call, budget *unstructured.Unstructured, n counts) control.Status {
	allowed := max(0, n.healthy-n.desired)
	if n.expected <= 0 {
		allowed = 0
	}
	status := control.Status{
		"currentHealthy": n.healthy, "desiredHealthy": n.desired, "expectedPods": n.expected,
		"disruptionsAllowed": allowed, "observedGeneration": budget.GetGeneration(),
	}
	if len(n.disrupted) > 0 {
		status["disruptedPods"] = n.disrupted
	}
	condition := conditions.New("DisruptionAllowed", "False", "InsufficientPods", "", c.Timestamp())
	if allowed > 0 {
		condition = conditions.New("DisruptionAllowed", "True", "SufficientPods", "", c.Timestamp())
	}
	setCondition(status, budget, condition, budget.GetGeneration())
	return status
}

// failed returns the status of a budget that cannot be computed: it allows nothing.
func failed(c control.Call, budget *unstructured.Unstructured, err error) control.Status {
	status := control.Status(fields.CloneMap(budget.Object, "status"))
	status["disruptionsAllowed"] = int64(0)
	for _, field := range []string{"currentHealthy", "desiredHealthy", "expectedPods"} {
		if status[field] == nil {
			status[field] = int64(0)
		}
	}
	condition := conditions.New("DisruptionAllowed", "False", "SyncFailed", err.Error(), c.Timestamp())
	setCondition(status, budget, condition, fields.Int64(budget.Object, 0, "status", "observedGeneration"))
	return status
}

// setCondition sets a condition that keeps its time of transition while its status is the same.
func setCondition(status control.Status, budget *unstructured.Unstructured, next conditions.Condition, observed int64) {
	list := conditions.Of(budget)
	if observed != 0 {
		next["observedGeneration"] = observed
	}
	if old := list.Find(next.Field("type")); old != nil && old.Field("status") == next.Field("status") {
		next["lastTransitionTime"] = old["lastTransitionTime"]
	}
	list.Replace(next).WriteTo(status)
}
