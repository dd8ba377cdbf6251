package workloads

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/scheduling"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// affectedByNode returns the DaemonSets to look at because a Node is new, or its labels or taints
// have changed:
//
//   - DaemonSets that are for the Node and have no Pod there
//   - DaemonSets that are not for the Node and have a Pod there
//   - DaemonSets that count Pods on wrong Nodes
//
// A Node that is gone affects none.
func affectedByNode(c *reconcile.Cache, ch reconcile.Change) (names []types.NamespacedName) {
	if ch.New == nil || ch.Old != nil && sameNode(ch.Old, ch.New) {
		return nil
	}
	has := map[types.UID]bool{}
	for _, p := range c.By(pods.ByNode, ch.New.GetName()) {
		has[control.ControllerUID(p)] = true
	}
	for _, set := range c.List(kinds.DaemonSet, "") {
		n := daemonNodeOf(ch.New, scheduling.NewPodInfo(daemonPod(set).Unstructured))
		scheduled := has[set.GetUID()]
		misscheduled := fields.Int64(set.Object, 0, "status", "numberMisscheduled") > 0
		if n.shouldRun && !scheduled || scheduled && (!n.shouldContinueToRun || misscheduled) {
			names = append(names, control.NameOf(set))
		}
	}
	return names
}

// sameNode reports whether a change of a Node does not matter to DaemonSets.
func sameNode(a, b *unstructured.Unstructured) bool {
	labelsA, labelsB := fields.Map(a.Object, "metadata", "labels"), fields.Map(b.Object, "metadata", "labels")
	return object.DeepEqual(labelsA, labelsB) && slices.Equal(scheduling.Taints(a), scheduling.Taints(b))
}
