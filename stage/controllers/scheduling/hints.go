package scheduling

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/patch"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// hints are the kinds whose changes may let a Pod through that a plugin rejected. For a plugin that
// is not in the table, all changes may. Pods that leave their Nodes, and Nodes, matter to most.
var hints = map[string][]string{
	"NodeUnschedulable":  {"Node"},
	"NodeName":           {"Node"},
	"TaintToleration":    {"Node"},
	"NodeAffinity":       {"Node"},
	"NodePorts":          {"Node", "Pod"},
	"NodeResourcesFit":   {"Node", "Pod"},
	"PodTopologySpread":  {"Node", "Pod", "bound Pod"},
	"InterPodAffinity":   {"Node", "Pod", "bound Pod", "Namespace"},
	"VolumeBinding":      {"Node", "PersistentVolumeClaim", "PersistentVolume", "StorageClass"},
	"VolumeZone":         {"Node", "PersistentVolumeClaim", "PersistentVolume", "StorageClass"},
	"VolumeRestrictions": {"Node", "Pod", "PersistentVolumeClaim"},
}

// queueingHint reports whether a change may let a Pod through that was rejected.
func queueingHint(p *QueuedPodInfo, ch reconcile.Change) bool {
	what := ch.Object().GetKind()
	if what == kinds.Pod.Kind && ch.New != nil && usedNode(ch.New) != "" {
		what = "bound Pod"
	}
	return len(p.rejecters) == 0 || slices.ContainsFunc(p.rejecters, func(plugin string) bool {
		kinds, known := hints[plugin]
		return !known || slices.Contains(kinds, what)
	})
}

// changesNode reports whether a Node changed in what plugins read: not by a heartbeat.
func changesNode(ch reconcile.Change) bool {
	if ch.Old == nil || ch.New == nil {
		return true
	}
	return !sameFields(ch.Old, ch.New, []string{"metadata", "labels"}, []string{"spec"}, []string{"status", "allocatable"}, []string{"status", "images"}) ||
		!slices.Equal(Taints(ch.Old), Taints(ch.New))
}

func sameFields(a, b *unstructured.Unstructured, paths ...[]string) bool {
	for _, path := range paths {
		x, _, _ := unstructured.NestedFieldNoCopy(a.Object, path...)
		y, _, _ := unstructured.NestedFieldNoCopy(b.Object, path...)
		if !patch.Equal(x, y) {
			return false
		}
	}
	return true
}
