package scheduling

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/resources"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// Queueing hints: which changes of the cluster may let a Pod through that a plugin rejected.

// newClusterEvent reads a change.
func newClusterEvent(cache *reconcile.Cache, ch reconcile.Change) ClusterEvent {
	e := ClusterEvent{Kind: ch.Object().GetKind(), Old: ch.Old, New: ch.New}
	switch e.Kind {
	case kinds.Pod.Kind:
		e.OldPod, e.NewPod = podOnNode(ch.Old), podOnNode(ch.New)
		if e.nominated = givesUpNomination(ch); e.nominated {
			e.OldPod = resolvedPodInfo(cache, ch.Old)
		}
	case kinds.Node.Kind:
		if ch.Old != nil {
			e.OldNode = NewNodeInfo(ch.Old)
		}
		if ch.New != nil {
			e.NewNode = NewNodeInfo(ch.New)
		}
	}
	return e
}

func podOnNode(pod *unstructured.Unstructured) *PodInfo {
	if usedNode(pod) == "" {
		return nil
	}
	return NewPodInfo(pod)
}

// podLeft reports whether a Pod has left its Node.
func (e *ClusterEvent) podLeft() bool { return e.OldPod != nil && e.NewPod == nil }

// nodeCame reports whether a Node is new.
func (e *ClusterEvent) nodeCame() bool { return e.OldNode == nil && e.NewNode != nil }

// nodeLabelsChanged reports whether a Node is new, or has new labels.
func (e *ClusterEvent) nodeLabelsChanged() bool {
	return e.NewNode != nil && (e.OldNode == nil || !sameFields(e.Old, e.New, []string{"metadata", "labels"}))
}

// taintsChanged reports whether taints of a Node changed, or it is no longer cordoned. After such a
// change, kube-scheduler 1.36 also tries Pods again whose plugins wait for new Nodes.
func (e *ClusterEvent) taintsChanged() bool {
	return e.OldNode != nil && e.NewNode != nil &&
		(e.OldNode.unschedulable && !e.NewNode.unschedulable || !sameFields(e.Old, e.New, []string{"spec", "taints"}))
}

// tolerationsGrew reports whether the Pod that waits has a new toleration.
func (e *ClusterEvent) tolerationsGrew() bool {
	return e.Own && len(fields.Slice(e.Old.Object, "spec", "tolerations")) != len(fields.Slice(e.New.Object, "spec", "tolerations"))
}

// changesNode reports whether a Node changed in the fields that plugins read. A heartbeat does not
// count.
func changesNode(ch reconcile.Change) bool {
	if ch.Old == nil || ch.New == nil {
		return true
	}
	return !sameFields(ch.Old, ch.New, []string{"metadata", "labels"}, []string{"spec"}, []string{"status", "allocatable"}, []string{"status", "images"}) ||
		!slices.Equal(Taints(ch.Old), Taints(ch.New))
}

func sameFields(a, b *unstructured.Unstructured, paths ...[]string) bool {
	for _, path := range paths {
		x, y := fields.Value(a.Object, path...), fields.Value(b.Object, path...)
		if !object.DeepEqual(x, y) {
			return false
		}
	}
	return true
}

func (nodeUnschedulable) QueueingHint(p *PodInfo, e ClusterEvent) bool {
	if e.tolerationsGrew() {
		return p.Tolerates(Taint{Key: taintUnschedulable, Effect: noSchedule})
	}
	return e.NewNode != nil && !e.NewNode.unschedulable && (e.OldNode == nil || e.OldNode.unschedulable)
}

func (nodeName) QueueingHint(_ *PodInfo, e ClusterEvent) bool {
	return e.nodeCame() || e.taintsChanged()
}

func (taintToleration) QueueingHint(p *PodInfo, e ClusterEvent) bool {
	if e.tolerationsGrew() {
		return true
	}
	return e.NewNode != nil && p.toleratesAll(e.NewNode) && (e.OldNode == nil || !p.toleratesAll(e.OldNode))
}

func (p *PodInfo) toleratesAll(n *NodeInfo) bool {
	return !slices.ContainsFunc(n.taints, func(t Taint) bool { return !p.Tolerates(t) })
}

func (nodeAffinity) QueueingHint(p *PodInfo, e ClusterEvent) bool {
	matches := func(n *NodeInfo) bool { return p.matchesNode(n.Name, n.labels) }
	return e.taintsChanged() || e.NewNode != nil && matches(e.NewNode) && (e.OldNode == nil || !matches(e.OldNode))
}

func (nodePorts) QueueingHint(p *PodInfo, e ClusterEvent) bool {
	return e.nodeCame() || e.taintsChanged() || e.podLeft() && slices.ContainsFunc(p.ports, func(wanted hostPort) bool {
		return slices.ContainsFunc(e.OldPod.ports, wanted.Conflicts)
	})
}

func (nodeResourcesFit) QueueingHint(p *PodInfo, e ClusterEvent) bool {
	switch {
	case e.NewNode != nil:
		return e.taintsChanged() || NodeResourcesFit(p, e.NewNode).Fits() && (e.OldNode == nil || p.getsMore(e.OldNode, e.NewNode))
	case e.Own:
		before := NewPodInfo(e.Old).Requests
		return shrinks(before, p.Requests, before)
	case e.OldPod != nil && e.NewPod != nil:
		return shrinks(e.OldPod.Requests, e.NewPod.Requests, p.Requests)
	}
	return e.podLeft()
}

// shrinks reports whether less than before is requested of one of the wanted resources.
func shrinks(before, now, wanted resources.Amounts) bool {
	for name, amount := range wanted {
		if amount > 0 && before[name] > now[name] {
			return true
		}
	}
	return false
}

// getsMore reports whether a Node has more than before of a resource that a Pod requests.
func (p *PodInfo) getsMore(old, now *NodeInfo) bool {
	for name, amount := range now.Allocatable {
		if amount > old.Allocatable[name] && (name == "pods" || p.Requests[name] > 0) {
			return true
		}
	}
	return false
}

func (podTopologySpread) QueueingHint(p *PodInfo, e ClusterEvent) bool {
	hard := hardConstraints(p)
	switch {
	case e.OldNode != nil || e.NewNode != nil:
		return spreadsOver(hard, e.OldNode, e.NewNode)
	case e.Own:
		before, honors := NewPodInfo(e.Old), func(s spreadConstraint) bool { return s.honorTaints }
		return e.tolerationsGrew() && slices.ContainsFunc(hard, honors) || counted(hard, before, p)
	case e.OldPod != nil && e.OldPod.namespace != p.namespace, e.NewPod != nil && e.NewPod.namespace != p.namespace:
		return false
	}
	return counted(hard, e.OldPod, e.NewPod)
}

func hardConstraints(p *PodInfo) []spreadConstraint {
	return slices.DeleteFunc(slices.Clone(p.spread), func(s spreadConstraint) bool { return s.soft })
}

// counted reports whether a change makes a constraint count a Pod that it did not count before, or
// the other way round. A Pod that does not exist is nil.
func counted(constraints []spreadConstraint, old, now *PodInfo) bool {
	return slices.ContainsFunc(constraints, func(s spreadConstraint) bool {
		counts := func(p *PodInfo) bool { return p != nil && s.selector.matches(p.labels) }
		return counts(old) != counts(now)
	})
}

// spreadsOver reports whether a Node is in other domains than before. A Node that does not exist is
// nil.
func spreadsOver(constraints []spreadConstraint, old, now *NodeInfo) bool {
	in := func(n *NodeInfo) bool { return n != nil && hasKeys(constraints, n) }
	if in(old) != in(now) || !in(now) {
		return in(old) != in(now)
	}
	return !sameFields(old.Node, now.Node, []string{"spec", "taints"}) || slices.ContainsFunc(constraints, func(s spreadConstraint) bool {
		return old.labels[s.key] != now.labels[s.key]
	})
}

func (interPodAffinity) QueueingHint(p *PodInfo, e ClusterEvent) bool {
	wanted, unwanted := p.affinity.required, p.affinity.requiredAnti
	switch {
	case e.NewNode != nil:
		return e.taintsChanged() || e.nodeLabelsChanged() && joinsDomain(wanted, unwanted, e.OldNode, e.NewNode)
	case e.Own:
		return !sameFields(e.Old, e.New, []string{"metadata", "labels"})
	case e.OldPod != nil && e.NewPod != nil:
		return !matchesAllTerms(wanted, e.OldPod) && matchesAllTerms(wanted, e.NewPod) ||
			matchesAllTerms(unwanted, e.OldPod) && !matchesAllTerms(unwanted, e.NewPod)
	case e.NewPod != nil:
		return matchesAllTerms(wanted, e.NewPod)
	case e.OldPod != nil:
		return matchesAllTerms(unwanted, e.OldPod) || matchesAllTerms(e.OldPod.affinity.requiredAnti, p)
	}
	return false
}

// joinsDomain reports whether a Node came into a domain of a term of affinity, or left one of a term
// of anti-affinity.
func joinsDomain(wanted, unwanted []affinityTerm, old, now *NodeInfo) bool {
	if old == nil && len(unwanted) > 0 {
		return true
	}
	return slices.ContainsFunc(wanted, func(t affinityTerm) bool {
		after, ok := now.labels[t.topologyKey]
		return ok && (old == nil || old.labels[t.topologyKey] != after)
	}) || old != nil && slices.ContainsFunc(unwanted, func(t affinityTerm) bool {
		before, ok := old.labels[t.topologyKey]
		return ok && before != now.labels[t.topologyKey]
	})
}

func (volumeRestrictions) QueueingHint(p *PodInfo, e ClusterEvent) bool {
	return e.nodeCame() || e.taintsChanged() || e.claimCame(p) || e.podLeft() && e.OldPod.namespace == p.namespace &&
		(p.sharesDisk(e.OldPod) || slices.ContainsFunc(p.claims, func(c claimName) bool { return slices.Contains(e.OldPod.claims, c) }))
}

// claimCame reports whether a claim of a Pod was created.
func (e *ClusterEvent) claimCame(p *PodInfo) bool { return e.Old == nil && e.claimChanged(p) }

// claimChanged reports whether a claim of a Pod was created or changed.
func (e *ClusterEvent) claimChanged(p *PodInfo) bool {
	return e.Kind == kinds.PersistentVolumeClaim.Kind && e.New != nil && e.New.GetNamespace() == p.namespace &&
		slices.ContainsFunc(p.claims, func(c claimName) bool { return c.name == e.New.GetName() })
}

// volumeChanged reports whether a PersistentVolume was created or changed.
func (e *ClusterEvent) volumeChanged() bool {
	return e.Kind == kinds.PersistentVolume.Kind && e.New != nil
}

func (volumeBinding) QueueingHint(p *PodInfo, e ClusterEvent) bool {
	switch e.Kind {
	case kinds.StorageClass.Kind:
		return e.New != nil && (e.Old == nil || !sameFields(e.Old, e.New, []string{"allowedTopologies"}))
	case kinds.CSIDriver.Kind:
		return e.Old != nil && e.New != nil && tellsCapacity(e.Old) && !tellsCapacity(e.New) && mountsInline(p, e.New.GetName())
	case kinds.CSIStorageCapacity.Kind:
		return e.New != nil && (e.Old == nil || capacityGrew(e.Old, e.New))
	}
	return e.nodeLabelsChanged() || e.taintsChanged() || e.volumeChanged() || e.claimChanged(p)
}

// mountsInline reports whether a Pod has a volume of a driver without a claim. kube-scheduler looks at
// these only when the driver changes.
func mountsInline(p *PodInfo, driver string) bool {
	return slices.ContainsFunc(fields.Maps(p.Pod.Object, "spec", "volumes"), func(v map[string]any) bool {
		return fields.String(v, "csi", "driver") == driver
	})
}

func capacityGrew(old, now *unstructured.Unstructured) bool {
	before, known := largestVolume(old)
	after, ok := largestVolume(now)
	return ok && (!known || after > before)
}

func (volumeZone) QueueingHint(p *PodInfo, e ClusterEvent) bool {
	switch e.Kind {
	case kinds.StorageClass.Kind:
		return e.Old == nil && fields.String(e.New.Object, "volumeBindingMode") == "WaitForFirstConsumer"
	case kinds.PersistentVolume.Kind:
		return e.New != nil && (e.Old == nil || !slices.EqualFunc(zonesOf(e.Old), zonesOf(e.New), sameRequirement))
	}
	return e.nodeLabelsChanged() || e.taintsChanged() || e.claimChanged(p)
}

func sameRequirement(a, b requirement) bool {
	return a.key == b.key && slices.Equal(a.values, b.values)
}

// priorityHint is for Pods whose PriorityClass does not exist.
type priorityHint struct{}

func (priorityHint) Name() string { return "Priority" }

func (priorityHint) QueueingHint(_ *PodInfo, e ClusterEvent) bool {
	return e.Kind == kinds.PriorityClass.Kind
}
