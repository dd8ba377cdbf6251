package nodes

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// PodGC returns the Pod garbage collector. It looks at the cluster every 20 seconds. It makes these
// Pods Failed and deletes them without a grace period:
//
//   - the oldest Pods that have succeeded or failed, while there are more than Options.TerminatedPods
//   - Pods of Nodes that have been gone for Options.Quarantine since the collector noticed
//   - Pods that are being deleted and have no Node, or are on a Node that is not ready and has the
//     taint node.kubernetes.io/out-of-service
func PodGC(o Options) reconcile.Controller {
	g := &podGC{options: o.withDefaults(), suspects: map[string]bool{}, missing: map[string]*missingNode{}}
	return reconcile.Controller{
		Name: "pod-garbage-collector", For: kinds.Node, When: func(reconcile.Change) bool { return false },
		Watches: []reconcile.Watch{
			{Kind: kinds.Node, Map: g.nodeChanged},
			{Kind: kinds.Pod, Map: g.podChanged},
		},
		Indexes:   []*reconcile.Index{pods.ByNode},
		Reconcile: g.reconcile,
	}
}

// A podGC is the state of the controller.
type podGC struct {
	options    Options
	start      time.Time
	looked     time.Time
	wanted     bool            // there is something to do in the next look
	terminated int             // how many Pods are terminated
	suspects   map[string]bool // Nodes that might be gone and have Pods
	missing    map[string]*missingNode
}

// A missingNode is a Node that was gone and had Pods in a look. Its Pods are deleted in the first look
// after its quarantine. If it had Pods until then, the next quarantine begins at once, so that Pods
// that come later wait for less time.
type missingNode struct {
	free    time.Time // the end of the quarantine
	hasPods bool
}

func (g *podGC) nodeChanged(c *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
	name := ch.Object().GetName()
	if ch.New == nil && len(c.By(pods.ByNode, name)) > 0 {
		g.suspects[name] = true
	}
	outOfService := isOutOfService(ch.New)
	if ch.Old != nil && ch.New != nil && !outOfService {
		return nil
	}
	g.wanted = g.wanted || outOfService || ch.New == nil
	return all // the first Node that is seen starts the clock
}

// isOutOfService reports whether an administrator has marked a Node, which can be nil, as out of
// service.
func isOutOfService(node *unstructured.Unstructured) bool {
	if node == nil || readyOf(node).IsTrue() {
		return false
	}
	return slices.ContainsFunc(fields.Maps(node.Object, "spec", "taints"), func(t map[string]any) bool {
		return fields.String(t, "key") == outOfServiceKey
	})
}

func (g *podGC) podChanged(c *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
	g.terminated += countTerminal(ch)
	if ch.New == nil {
		if g.missing[pods.Of(ch.Old).NodeName()] != nil {
			return all
		}
		return nil
	}
	pod := pods.Of(ch.New)
	node := pod.NodeName()
	switch {
	case node != "" && c.Get(kinds.Node, named(node)) == nil:
		g.suspects[node] = true
	case g.tooMany():
	case pod.IsTerminating() && (node == "" || isOutOfService(c.Get(kinds.Node, named(node)))):
	default:
		return nil
	}
	g.wanted = true
	return all
}

func countTerminal(ch reconcile.Change) (n int) {
	if ch.Old != nil && pods.Of(ch.Old).IsTerminal() {
		n--
	}
	if ch.New != nil && pods.Of(ch.New).IsTerminal() {
		n++
	}
	return n
}

func (g *podGC) tooMany() bool {
	return g.options.TerminatedPods >= 0 && g.terminated > g.options.TerminatedPods
}

func (g *podGC) reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	c := control.NewCall(ctx, r)
	if g.start.IsZero() {
		g.start = c.Now
	}
	g.catchUp(c)
	if g.lookIsDue(c) {
		g.looked, g.wanted = c.Now, false // its writes can cause work for the next look
		if err := g.look(c); err != nil {
			g.looked, g.wanted = time.Time{}, true
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{After: g.next(c)}, nil
}

// catchUp goes through the quarantines that ended in looks that were left out.
func (g *podGC) catchUp(c control.Call) {
	for name, m := range g.missing {
		for at := tick(g.start, m.free, g.options.GCPeriod); at.Before(c.Now); at = tick(g.start, m.free, g.options.GCPeriod) {
			if !m.hasPods {
				delete(g.missing, name)
				break
			}
			m.free = at.Add(g.options.Quarantine)
		}
		m.hasPods = len(c.Cache.By(pods.ByNode, name)) > 0
	}
}

func (g *podGC) lookIsDue(c control.Call) bool {
	if c.Now.Equal(g.looked) || !tick(g.start, c.Now, g.options.GCPeriod).Equal(c.Now) {
		return false
	}
	return g.wanted || !c.Now.Before(g.nextFree(c))
}

// nextFree returns the end of the next quarantine after which a Pod must be deleted.
func (g *podGC) nextFree(c control.Call) time.Time {
	next := farAway
	for name, m := range g.missing {
		if slices.ContainsFunc(pods.OfAll(c.Cache.By(pods.ByNode, name)), hasToGo) {
			next = earlier(next, m.free)
		}
	}
	return next
}

// hasToGo reports whether a Pod is not yet as the collector leaves it where a finalizer keeps it.
func hasToGo(p pods.Pod) bool {
	return !p.IsTerminal() || !p.IsTerminating() || fields.Int64(p.Object, 0, "metadata", "deletionGracePeriodSeconds") != 0
}

func (g *podGC) next(c control.Call) time.Duration {
	now, at := c.Now, g.nextFree(c)
	if g.wanted {
		at = now.Add(1)
	}
	if at.Equal(farAway) {
		return 0
	}
	return max(tick(g.start, at, g.options.GCPeriod).Sub(now), 1)
}

// look does the work that is due now.
func (g *podGC) look(c control.Call) error {
	if g.tooMany() {
		if err := g.deleteTerminated(c); err != nil {
			return err
		}
	}
	if err := deleteTerminating(c); err != nil {
		return err
	}
	return g.deleteOrphans(c)
}

// deleteTerminated deletes evicted Pods first, then the oldest Pods.
func (g *podGC) deleteTerminated(c control.Call) error {
	var found []pods.Pod
	for _, pod := range pods.OfAll(c.Cache.List(kinds.Pod, "")) {
		if pod.IsTerminal() {
			found = append(found, pod)
		}
	}
	evicted := func(p pods.Pod) int {
		if p.Phase() == "Failed" && fields.String(p.Object, "status", "reason") == "Evicted" {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(found, func(a, b pods.Pod) int {
		return cmp.Or(cmp.Compare(evicted(a), evicted(b)), fields.ByAge(a.Unstructured, b.Unstructured))
	})
	for _, pod := range found[:max(0, len(found)-g.options.TerminatedPods)] {
		if err := failAndDelete(c, pod, false); err != nil {
			return err
		}
	}
	return nil
}

// deleteTerminating deletes the Pods that are being deleted and that no kubelet will remove.
func deleteTerminating(c control.Call) error {
	for _, pod := range pods.OfAll(c.Cache.List(kinds.Pod, "")) {
		if !pod.IsTerminating() {
			continue
		}
		if pod.NodeName() != "" && !isOutOfService(c.Cache.Get(kinds.Node, named(pod.NodeName()))) {
			continue
		}
		if err := failAndDelete(c, pod, false); err != nil {
			return err
		}
	}
	return nil
}

// deleteOrphans deletes the Pods of Nodes whose quarantine is over, and puts others into it.
func (g *podGC) deleteOrphans(c control.Call) error {
	for _, name := range slices.Sorted(maps.Keys(g.suspects)) {
		if g.missing[name] == nil && c.Cache.Get(kinds.Node, named(name)) == nil && len(c.Cache.By(pods.ByNode, name)) > 0 {
			g.missing[name] = &missingNode{free: c.Now.Add(g.options.Quarantine), hasPods: true}
		}
	}
	clear(g.suspects)
	for _, name := range slices.Sorted(maps.Keys(g.missing)) {
		if !g.missing[name].free.After(c.Now) {
			if err := g.deletePodsOf(c, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// deletePodsOf deletes the Pods of a Node whose quarantine is over, if it is still gone.
func (g *podGC) deletePodsOf(c control.Call, name string) error {
	orphans := pods.OfAll(c.Cache.By(pods.ByNode, name))
	if c.Cache.Get(kinds.Node, named(name)) != nil || len(orphans) == 0 {
		delete(g.missing, name)
		return nil
	}
	for _, pod := range orphans {
		if err := failAndDelete(c, pod, true); err != nil {
			return err
		}
	}
	g.missing[name].free = c.Now.Add(g.options.Quarantine)
	return nil
}

// failAndDelete makes a Pod Failed that is not terminated, and deletes it without a grace period.
func failAndDelete(c control.Call, pod pods.Pod, orphan bool) error {
	if !pod.IsTerminal() {
		var err error
		if orphan {
			err = disrupt(c, pod, "DeletionByPodGC", "PodGC: node no longer exists", "Failed")
		} else {
			err = writeConditions(c, pod, conditions.Of(pod.Unstructured), "Failed")
		}
		if err != nil {
			return err
		}
	}
	return c.DeleteNow(pod.Unstructured)
}
