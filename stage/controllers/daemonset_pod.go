package controllers

import (
	"maps"
	"slices"
)

// daemonTaints are those that Pods of DaemonSets tolerate in any case.
var daemonTaints = []struct{ key, effect string }{
	{"node.kubernetes.io/not-ready", "NoExecute"},
	{"node.kubernetes.io/unreachable", "NoExecute"},
	{"node.kubernetes.io/disk-pressure", "NoSchedule"},
	{"node.kubernetes.io/memory-pressure", "NoSchedule"},
	{"node.kubernetes.io/pid-pressure", "NoSchedule"},
	{"node.kubernetes.io/unschedulable", "NoSchedule"},
}

// templateGenerationKey is what an API server, not stage/memory, annotates a DaemonSet with.
const templateGenerationKey = "deprecated.daemonset.template.generation"

func (r *daemonRun) add(node string) error {
	created, err := r.create(r.newPod(node).Unstructured)
	if err == nil {
		r.byNode[node] = append(r.byNode[node], pod{created})
	}
	return err
}

// newPod makes a Pod that only one node takes; any, if node is "".
func (r *daemonRun) newPod(node string) pod {
	p := pod{newPod(r.set, tree(r.set.Object, "spec", "template"))}
	metadata := p.Object["metadata"].(map[string]any)
	labels := maps.Clone(tree(metadata, "labels"))
	if labels == nil {
		labels = map[string]any{}
	}
	labels[revisionLabel] = r.hash
	if generation := annotation(r.set, templateGenerationKey); generation != "" {
		labels["pod-template-generation"] = generation
	}
	metadata["labels"] = labels
	spec := tree(p.Object, "spec")
	if spec == nil {
		spec = map[string]any{}
		p.Object["spec"] = spec
	}
	tolerateDaemonTaints(spec)
	if node != "" {
		spec["affinity"] = withNode(tree(spec, "affinity"), node)
	}
	return p
}

func tolerateDaemonTaints(spec map[string]any) {
	tolerations := slices.Clone(list(spec, "tolerations"))
	for _, t := range daemonTaints {
		tolerations = append(tolerations, map[string]any{"key": t.key, "operator": "Exists", "effect": t.effect})
	}
	if flag(spec, "hostNetwork") {
		tolerations = append(tolerations, map[string]any{"key": "node.kubernetes.io/network-unavailable", "operator": "Exists", "effect": "NoSchedule"})
	}
	spec["tolerations"] = tolerations
}

// withNode puts a node in place of the required node affinity.
func withNode(affinity map[string]any, node string) map[string]any {
	affinity = maps.Clone(affinity)
	if affinity == nil {
		affinity = map[string]any{}
	}
	toNodes := maps.Clone(tree(affinity, "nodeAffinity"))
	if toNodes == nil {
		toNodes = map[string]any{}
	}
	field := map[string]any{"key": "metadata.name", "operator": "In", "values": []any{node}}
	toNodes["requiredDuringSchedulingIgnoredDuringExecution"] = map[string]any{
		"nodeSelectorTerms": []any{map[string]any{"matchFields": []any{field}}},
	}
	affinity["nodeAffinity"] = toNodes
	return affinity
}

// status counts nodes: a node has the Pod that is bound, or the oldest.
func (r *daemonRun) status() counts {
	var desired, current, misplaced, ready, updated, available int64
	for _, n := range r.nodes {
		on := r.byNode[n.name]
		desired += int64(truth(n.starts))
		switch {
		case len(on) == 0:
			continue
		case !n.starts:
			misplaced++
			continue
		}
		p := on[0]
		current++
		ready += int64(truth(p.ready()))
		available += int64(truth(r.available(p)))
		updated += int64(truth(r.updated(p)))
	}
	status := counts{
		"currentNumberScheduled": current, "numberMisscheduled": misplaced, "desiredNumberScheduled": desired, "numberReady": ready,
	}
	status.add("observedGeneration", r.set.GetGeneration())
	status.add("updatedNumberScheduled", updated)
	status.add("numberAvailable", available)
	status.add("numberUnavailable", desired-available)
	if n := number(r.set.Object, 0, "status", "collisionCount"); n > 0 {
		status["collisionCount"] = n
	}
	conditionsOf(r.set).into(status)
	return status
}
