package lint

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// finishedPhases are the phases that a Pod never leaves.
var finishedPhases = []string{"Succeeded", "Failed"}

// finishedPod finds a Stage that selects finished Pods and makes them run again.
func finishedPod(s *checkedStage) []fault {
	if s.kind != (schema.GroupVersionKind{Version: "v1", Kind: "Pod"}) {
		return nil
	}
	for _, r := range s.requirements {
		if r.key != `."status"."phase"` || r.operator != v1alpha1.SelectorOpIn {
			continue
		}
		for _, l := range s.probeResults() {
			v := l.matching[s]
			from, to := phaseOf(l.obj), phaseOf(v.DryRun.After)
			if slices.Contains(finishedPhases, from) && (to == "Running" || to == "Pending") {
				return []fault{fieldFault(r.at, "delete the Pod, and let its owner make another one",
					"the stage makes a Pod %s that has %s, which no kubelet does: a finished Pod stays finished", to, from)}
			}
		}
	}
	return nil
}

func phaseOf(obj *unstructured.Unstructured) string {
	if obj == nil {
		return ""
	}
	phase, _, _ := unstructured.NestedString(obj.Object, "status", "phase")
	return phase
}
