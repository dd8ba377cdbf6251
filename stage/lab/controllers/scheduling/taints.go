package scheduling

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
)

// A Taint is an entry of spec.taints of a Node.
type Taint struct{ Key, Value, Effect string }

// The effects of taints that keep Pods away; NoExecute also evicts Pods that run.
const (
	noSchedule       = "NoSchedule"
	noExecute        = "NoExecute"
	preferNoSchedule = "PreferNoSchedule"
)

const (
	taintNotReady      = "node.kubernetes.io/not-ready"
	taintUnreachable   = "node.kubernetes.io/unreachable"
	taintUnschedulable = "node.kubernetes.io/unschedulable"
)

// Taints returns the taints of a Node with the effects NoSchedule and NoExecute. The result always
// has the taint NoSchedule node.kubernetes.io/not-ready for a Node that is not ready, or
// unreachable if the condition Ready is Unknown. So nodes.ConditionTaints need not run.
func Taints(node *unstructured.Unstructured) []Taint {
	found := taintsWith(node, noSchedule, noExecute)
	switch ready := conditions.Of(node).Find("Ready"); ready.Field("status") {
	case "True":
	case "Unknown":
		found = append(found, Taint{Key: taintUnreachable, Effect: noSchedule})
	default:
		found = append(found, Taint{Key: taintNotReady, Effect: noSchedule})
	}
	return found
}

// taintsWith returns the taints of a Node that have one of some effects.
func taintsWith(node *unstructured.Unstructured, effects ...string) (found []Taint) {
	for _, t := range fields.Maps(node.Object, "spec", "taints") {
		if effect := fields.String(t, "effect"); slices.Contains(effects, effect) {
			found = append(found, Taint{fields.String(t, "key"), fields.String(t, "value"), effect})
		}
	}
	return found
}

func isReady(node *unstructured.Unstructured) bool { return conditions.Of(node).Find("Ready").IsTrue() }

// IsSchedulable reports whether a Node is ready and not cordoned (spec.unschedulable).
func IsSchedulable(node *unstructured.Unstructured) bool {
	return isReady(node) && !fields.Bool(node.Object, "spec", "unschedulable")
}

type toleration struct{ key, operator, value, effect string }

func tolerationsOf(spec map[string]any) (found []toleration) {
	for _, t := range fields.Maps(spec, "tolerations") {
		found = append(found, toleration{
			fields.String(t, "key"), fields.String(t, "operator"), fields.String(t, "value"), fields.String(t, "effect"),
		})
	}
	return found
}

// Tolerates reports whether one of the tolerations of the Pod is for a taint.
func (p *PodInfo) Tolerates(taint Taint) bool {
	return slices.ContainsFunc(p.tolerations, func(t toleration) bool {
		switch {
		case t.effect != "" && t.effect != taint.Effect, t.key != "" && t.key != taint.Key:
			return false
		case t.operator == "Exists":
			return true
		}
		return t.key != "" && t.value == taint.Value
	})
}
