package workloads

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/lists"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
)

// daemonTaints are the taints that every Pod of a DaemonSet tolerates.
var daemonTaints = []struct{ key, effect string }{
	{"node.kubernetes.io/not-ready", "NoExecute"},
	{"node.kubernetes.io/unreachable", "NoExecute"},
	{"node.kubernetes.io/disk-pressure", "NoSchedule"},
	{"node.kubernetes.io/memory-pressure", "NoSchedule"},
	{"node.kubernetes.io/pid-pressure", "NoSchedule"},
	{"node.kubernetes.io/unschedulable", "NoSchedule"},
}

// templateGenerationKey is an annotation that an API server, and not stage/memory, gives to a
// DaemonSet.
const templateGenerationKey = "deprecated.daemonset.template.generation"

// sync creates Pods on Nodes and, even if that fails, deletes others, except Pods that are already
// terminating.
func (r *daemonRun) sync(create []string, remove []pods.Pod) error {
	failed := r.SlowStart(len(create), func(i int) error {
		created, err := r.CreatePod(r.set, r.newPod(create[i]).Unstructured)
		if err == nil {
			r.podsOn[create[i]] = append(r.podsOn[create[i]], pods.Of(created))
			r.acted = true
		}
		return err
	})
	remove = lists.Filter(remove, func(p pods.Pod) bool { return !p.IsTerminating() })
	r.acted = r.acted || len(remove) > 0
	return errors.Join(failed, r.Each(len(remove), func(i int) error { return r.DeletePod(r.set, remove[i].Unstructured) }))
}

// newPod makes a Pod that runs on one Node only.
func (r *daemonRun) newPod(node string) pods.Pod {
	p := daemonPod(r.set)
	metadata := control.Metadata(p.Unstructured)
	labels := fields.CloneMap(metadata, "labels")
	labels[revisionLabel] = r.hash
	if generation := fields.Annotation(r.set, templateGenerationKey); generation != "" {
		labels["pod-template-generation"] = generation
	}
	metadata["labels"] = labels
	spec := specOf(p)
	spec["affinity"] = withNode(fields.Map(spec, "affinity"), node)
	return p
}

// daemonPod makes a Pod of the template, with the tolerations of Pods of DaemonSets.
func daemonPod(set *unstructured.Unstructured) pods.Pod {
	p := pods.FromTemplate(set, podTemplate(set))
	tolerateDaemonTaints(specOf(p))
	return p
}

// specOf returns the spec of a new Pod, to be changed.
func specOf(p pods.Pod) map[string]any {
	spec := fields.Map(p.Object, "spec")
	if spec == nil {
		spec = map[string]any{}
		p.Object["spec"] = spec
	}
	return spec
}

func tolerateDaemonTaints(spec map[string]any) {
	tolerations := slices.Clone(fields.Slice(spec, "tolerations"))
	for _, t := range daemonTaints {
		tolerations = append(tolerations, map[string]any{"key": t.key, "operator": "Exists", "effect": t.effect})
	}
	if fields.Bool(spec, "hostNetwork") {
		unavailable := map[string]any{"key": "node.kubernetes.io/network-unavailable", "operator": "Exists", "effect": "NoSchedule"}
		tolerations = append(tolerations, unavailable)
	}
	spec["tolerations"] = tolerations
}

// withNode returns an affinity whose required node affinity is for one Node.
func withNode(affinity map[string]any, node string) map[string]any {
	result, nodeAffinity := fields.CloneMap(affinity), fields.CloneMap(affinity, "nodeAffinity")
	field := map[string]any{"key": "metadata.name", "operator": "In", "values": []any{node}}
	nodeAffinity["requiredDuringSchedulingIgnoredDuringExecution"] = map[string]any{
		"nodeSelectorTerms": []any{map[string]any{"matchFields": []any{field}}},
	}
	result["nodeAffinity"] = nodeAffinity
	return result
}
