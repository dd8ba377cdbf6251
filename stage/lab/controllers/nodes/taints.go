package nodes

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// A taint is an entry of spec.taints.
type taint struct{ key, value, effect string }

const (
	noSchedule = "NoSchedule"
	noExecute  = "NoExecute"
)

const (
	notReadyKey      = "node.kubernetes.io/not-ready"
	unreachableKey   = "node.kubernetes.io/unreachable"
	unschedulableKey = "node.kubernetes.io/unschedulable"
	outOfServiceKey  = "node.kubernetes.io/out-of-service"
)

// conditionTaints are the taints by the type and status of a condition, in their order.
func conditionTaints(kind, status string) (key string) {
	switch kind + "=" + status {
	case "Ready=False":
		return notReadyKey
	case "Ready=Unknown":
		return unreachableKey
	case "MemoryPressure=True":
		return "node.kubernetes.io/memory-pressure"
	case "DiskPressure=True":
		return "node.kubernetes.io/disk-pressure"
	case "PIDPressure=True":
		return "node.kubernetes.io/pid-pressure"
	case "NetworkUnavailable=True":
		return "node.kubernetes.io/network-unavailable"
	}
	return ""
}

// isConditionTaint reports whether ConditionTaints owns the taints NoSchedule of a key.
func isConditionTaint(key string) bool {
	switch key {
	case notReadyKey, unreachableKey, unschedulableKey, "node.kubernetes.io/memory-pressure", "node.kubernetes.io/disk-pressure",
		"node.kubernetes.io/pid-pressure", "node.kubernetes.io/network-unavailable":
		return true
	}
	return false
}

// taintsOf returns the taints of a Node with an effect.
func taintsOf(node *unstructured.Unstructured, effect string) (found []taint) {
	for _, t := range fields.Maps(node.Object, "spec", "taints") {
		if fields.String(t, "effect") == effect {
			found = append(found, taint{fields.String(t, "key"), fields.String(t, "value"), effect})
		}
	}
	return found
}

func hasTaint(node *unstructured.Unstructured, key, effect string) bool {
	return slices.ContainsFunc(taintsOf(node, effect), func(t taint) bool { return t.key == key })
}

// ConditionTaints returns the controller that gives Nodes the taints NoSchedule that their
// conditions and spec.unschedulable ask for, and takes them away.
func ConditionTaints() reconcile.Controller {
	return reconcile.Controller{Name: "node-condition-taints", For: kinds.Node, Reconcile: control.OnExisting(kinds.Node, setConditionTaints)}
}

func setConditionTaints(c control.Call, node *unstructured.Unstructured) (reconcile.Result, error) {
	wanted := wantedTaints(node)
	var add, remove []taint
	for _, t := range taintsOf(node, noSchedule) {
		if isConditionTaint(t.key) && !slices.Contains(wanted, taint{key: t.key, effect: noSchedule}) {
			remove = append(remove, t)
		}
	}
	for _, t := range wanted {
		if !hasTaint(node, t.key, noSchedule) {
			add = append(add, t)
		}
	}
	_, err := swapTaints(c, node, add, remove)
	return reconcile.Result{}, err
}

func wantedTaints(node *unstructured.Unstructured) (wanted []taint) {
	for _, condition := range fields.Maps(node.Object, "status", "conditions") {
		if key := conditionTaints(fields.String(condition, "type"), fields.String(condition, "status")); key != "" {
			wanted = append(wanted, taint{key: key, effect: noSchedule})
		}
	}
	if fields.Bool(node.Object, "spec", "unschedulable") {
		wanted = append(wanted, taint{key: unschedulableKey, effect: noSchedule})
	}
	return wanted
}

// swapTaints adds taints that a Node does not have, with the time, and removes others. It returns
// the changed Node.
func swapTaints(c control.Call, node *unstructured.Unstructured, add, remove []taint) (*unstructured.Unstructured, error) {
	if len(add)+len(remove) == 0 {
		return node, nil
	}
	kept := []any{}
	for _, t := range fields.Maps(node.Object, "spec", "taints") {
		match := func(r taint) bool { return r.key == fields.String(t, "key") && r.effect == fields.String(t, "effect") }
		if !slices.ContainsFunc(remove, match) && !slices.ContainsFunc(add, match) {
			kept = append(kept, t)
		}
	}
	for _, t := range add {
		kept = append(kept, map[string]any{"key": t.key, "effect": t.effect, "timeAdded": c.Timestamp()})
	}
	var taints any = kept
	if len(kept) == 0 {
		taints = nil
	}
	return c.MergePatch(node, map[string]any{"spec": map[string]any{"taints": taints}})
}

func readyOf(node *unstructured.Unstructured) conditions.Condition {
	return conditions.Of(node).Find("Ready")
}

func named(name string) types.NamespacedName { return types.NamespacedName{Name: name} }
