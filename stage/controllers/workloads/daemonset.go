package workloads

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/patch"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/lists"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/controllers/scheduling"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// DaemonSets returns the controller that keeps a Pod on each Node that a DaemonSet is for. A
// scheduler has to bind the Pods. A Pod that fails is replaced at once, and if Pods go on failing on
// that Node, after 1 s, 2 s, and so on, up to 15 minutes.
//
// The controller has a state. Give each loop one of its own.
func DaemonSets() reconcile.Controller {
	b := newDaemonBackoff()
	allOfThem := func(c *reconcile.Cache, ch reconcile.Change) (names []types.NamespacedName) {
		if ch.Old != nil && ch.New != nil && sameNode(ch.Old, ch.New) {
			return nil
		}
		for _, set := range c.List(kinds.DaemonSet, "") {
			names = append(names, control.NameOf(set))
		}
		return names
	}
	return reconcile.Controller{
		Name: "daemonset", Component: "daemonset-controller", For: kinds.DaemonSet,
		Watches: append(control.WatchOwned(kinds.Pod, kinds.DaemonSet),
			reconcile.Watch{Kind: kinds.ControllerRevision},
			reconcile.Watch{Kind: kinds.Node, Map: allOfThem},
		),
		Reconcile: control.OnExisting(kinds.DaemonSet, func(c control.Call, set *unstructured.Unstructured) (reconcile.Result, error) {
			return reconcileDaemonSet(c, set, b)
		}),
	}
}

// sameNode reports whether nothing changed that matters to DaemonSets.
func sameNode(a, b *unstructured.Unstructured) bool {
	labelsA, labelsB := fields.Map(a.Object, "metadata", "labels"), fields.Map(b.Object, "metadata", "labels")
	return patch.Equal(labelsA, labelsB) && slices.Equal(scheduling.Taints(a), scheduling.Taints(b))
}

// A daemonRun is one reconcile of a DaemonSet.
type daemonRun struct {
	control.Call
	backoff                             *daemonBackoff
	set                                 *unstructured.Unstructured
	hash                                string // of the present template
	nodes                               []daemonNode
	deleted                             map[types.UID]bool    // Pods, in this reconcile
	podsOn                              map[string][]pods.Pod // by name of the Node: bound Pods first, then the oldest
	surge, unavailable, minReadySeconds int64
	requeueAfter                        time.Duration
}

// A daemonNode is a Node and whether a Pod of the DaemonSet is to be started there, and may
// continue to run.
type daemonNode struct {
	name                string
	shouldRun           bool
	shouldContinueToRun bool
}

func reconcileDaemonSet(c control.Call, set *unstructured.Unstructured, b *daemonBackoff) (reconcile.Result, error) {
	if fields.IsTerminating(set) {
		return reconcile.Result{}, nil
	}
	claimed, err := pods.Claim(c, set)
	if err != nil {
		return reconcile.Result{}, err
	}
	h, err := syncRevisions(c, set, revisionLabel)
	if err != nil {
		return reconcile.Result{}, err
	}
	b.drop(c.Now)
	r := newDaemonRun(c, set, h, claimed)
	r.backoff = b
	if err = r.act(); err == nil {
		err = r.truncateHistory(h)
	}
	status := r.status()
	if statusErr := r.WriteStatus(set, status); err == nil {
		err = statusErr
	}
	return reconcile.Result{After: control.Sooner(r.requeueAfter, b.after(set, c.Now))}, err
}

func newDaemonRun(c control.Call, set *unstructured.Unstructured, h history, claimed []pods.Pod) *daemonRun {
	r := &daemonRun{
		Call: c, set: set, hash: fields.Label(h.update, revisionLabel), podsOn: map[string][]pods.Pod{}, deleted: map[types.UID]bool{},
		minReadySeconds: fields.Int64(set.Object, 0, "spec", "minReadySeconds"),
	}
	for _, p := range claimed {
		node := targetNode(p)
		r.podsOn[node] = append(r.podsOn[node], p)
	}
	for _, on := range r.podsOn {
		slices.SortStableFunc(on, func(a, b pods.Pod) int {
			return cmp.Or(cmp.Compare(one(a.NodeName() == ""), one(b.NodeName() == "")), fields.ByAge(a.Unstructured, b.Unstructured))
		})
	}
	pod := scheduling.NewPodInfo(r.newPod("").Unstructured)
	var desired int64
	for _, node := range c.Cache.List(kinds.Node, "") {
		n := daemonNodeOf(node, pod)
		desired += one(n.shouldRun)
		r.nodes = append(r.nodes, n)
	}
	rolling := fields.Map(set.Object, "spec", "updateStrategy", "rollingUpdate")
	r.surge, _ = fields.IntOrPercent(rolling["maxSurge"], desired, true)
	r.unavailable, _ = fields.IntOrPercent(rolling["maxUnavailable"], desired, true)
	if r.surge == 0 && r.unavailable == 0 {
		r.unavailable = 1
	}
	return r
}

// daemonNodeOf asks whether a DaemonSet with this Pod is for a Node. If the Node has a taint that
// the Pod does not tolerate, a Pod that is there may continue to run unless the effect is
// NoExecute.
func daemonNodeOf(node *unstructured.Unstructured, p *scheduling.PodInfo) daemonNode {
	n := daemonNode{name: node.GetName()}
	only := pods.Of(p.Pod).NodeName()
	if only != "" && only != n.name || !p.MatchesNode(node) {
		return n
	}
	n.shouldRun, n.shouldContinueToRun = true, true
	for _, taint := range scheduling.Taints(node) {
		if !p.Tolerates(taint) {
			n.shouldRun = false
			n.shouldContinueToRun = n.shouldContinueToRun && taint.Effect != "NoExecute"
		}
	}
	return n
}

// targetNode returns the Node that a Pod is on or, before it is bound, the one that it is for.
func targetNode(p pods.Pod) string {
	if node := p.NodeName(); node != "" {
		return node
	}
	required := fields.Map(p.Object, "spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
	for _, term := range fields.Maps(required, "nodeSelectorTerms") {
		for _, f := range fields.Maps(term, "matchFields") {
			if values := fields.Slice(f, "values"); fields.String(f, "key") == "metadata.name" && len(values) == 1 {
				name, _ := values[0].(string)
				return name
			}
		}
	}
	return ""
}

func (r *daemonRun) isUpdated(p pods.Pod) bool {
	return fields.Label(p.Unstructured, revisionLabel) == r.hash
}

func (r *daemonRun) isAvailable(p pods.Pod) bool {
	is, left := p.Available(r.minReadySeconds, r.Now)
	r.requeueAfter = control.Sooner(r.requeueAfter, left)
	return is
}

// act creates and deletes Pods so that there is one on each Node, and replaces those of an old
// template.
func (r *daemonRun) act() error {
	if err := r.manage(); err != nil {
		return err
	}
	if fields.String(r.set.Object, "spec", "updateStrategy", "type") == "OnDelete" {
		return nil
	}
	if r.surge > 0 {
		return r.rollingUpdateWithSurge()
	}
	return r.rollingUpdate()
}

func (r *daemonRun) manage() error {
	for _, n := range r.nodes {
		on := r.podsOn[n.name]
		switch {
		case n.shouldRun && len(on) == 0:
			if err := r.createPod(n.name); err != nil {
				return err
			}
		case n.shouldContinueToRun:
			if err := r.deleteUnneeded(n, on); err != nil {
				return err
			}
		default:
			if err := r.deletePods(on); err != nil {
				return err
			}
		}
	}
	return r.deletePodsOfMissingNodes()
}

// deleteUnneeded deletes the Pods of a Node that are terminal, and those beyond the first. With a
// surge there may be one Pod of each template, until the new one is available.
func (r *daemonRun) deleteUnneeded(n daemonNode, on []pods.Pod) error {
	var terminal, running []pods.Pod
	for _, p := range on {
		switch {
		case p.IsTerminating():
		case !p.IsTerminal():
			running = append(running, p)
		case r.mayDeleteTerminal(p):
			terminal = append(terminal, p)
		}
	}
	extra := running[min(1, len(running)):]
	if r.surge > 0 {
		extra = r.extraWithSurge(running)
		if len(running) == 0 && n.shouldRun && len(terminal) == 0 && allTerminating(on) {
			return r.createPod(n.name)
		}
	}
	return r.deletePods(append(terminal, extra...))
}

func allTerminating(on []pods.Pod) bool {
	return lists.Count(on, pods.Pod.IsTerminating) == int64(len(on))
}

// mayDeleteTerminal reports whether a terminal Pod may be deleted: a failed one stays for a while if
// others failed before it on its Node.
func (r *daemonRun) mayDeleteTerminal(p pods.Pod) bool {
	where := fmt.Sprintf("daemon pod %s/%s on node %s, will try to", p.GetNamespace(), p.GetName(), targetNode(p))
	if p.Phase() != "Failed" {
		r.Record(r.set, "Normal", "SucceededDaemonPod", "Found succeeded "+where+" delete it")
		return true
	}
	if !r.backoff.mayDelete(r.set, targetNode(p), r.Now) {
		return false
	}
	r.Record(r.set, "Warning", "FailedDaemonPod", "Found failed "+where+" kill it")
	return true
}

// extraWithSurge returns the Pods that are too many: all but the oldest of each template, and the
// old one once the new one is available or the old one is not ready.
func (r *daemonRun) extraWithSurge(running []pods.Pod) (extra []pods.Pod) {
	var updated, old []pods.Pod
	for _, p := range running {
		if r.isUpdated(p) {
			updated = append(updated, p)
		} else {
			old = append(old, p)
		}
	}
	if len(updated) > 0 && len(old) > 0 && (!old[0].IsReady() || r.isAvailable(updated[0])) {
		extra = append(extra, old[0])
	}
	return slices.Concat(extra, updated[min(1, len(updated)):], old[min(1, len(old)):])
}

// deletePodsOfMissingNodes deletes Pods that are not bound and are for a Node that is gone.
func (r *daemonRun) deletePodsOfMissingNodes() error {
	exists := map[string]bool{}
	for _, n := range r.nodes {
		exists[n.name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(r.podsOn)) {
		if exists[name] {
			continue
		}
		unbound := lists.Filter(r.podsOn[name], func(p pods.Pod) bool { return p.NodeName() == "" })
		if err := r.deletePods(unbound); err != nil {
			return err
		}
	}
	return nil
}

// truncateHistory deletes the oldest revisions that are not in use until there are as many old ones
// as spec.revisionHistoryLimit says, those in use included: unlike those of a StatefulSet.
func (r *daemonRun) truncateHistory(h history) error {
	old := lists.Filter(h.all, func(rev *unstructured.Unstructured) bool { return rev != h.update })
	tooMany := len(old) - int(fields.Int64(r.set.Object, 10, "spec", "revisionHistoryLimit"))
	unused := lists.Filter(old, func(rev *unstructured.Unstructured) bool { return !r.inUse(rev) })
	return r.DeleteAll(unused[:max(0, min(tooMany, len(unused)))])
}

func (r *daemonRun) inUse(rev *unstructured.Unstructured) bool {
	for _, on := range r.podsOn {
		if slices.ContainsFunc(on, func(p pods.Pod) bool {
			return fields.Label(p.Unstructured, revisionLabel) == fields.Label(rev, revisionLabel)
		}) {
			return true
		}
	}
	return false
}

// status counts Nodes by their first Pods: the one that is bound, or the oldest.
func (r *daemonRun) status() control.Status {
	var desired, current, misscheduled, ready, updated, available int64
	for _, n := range r.nodes {
		on := r.podsOn[n.name]
		desired += one(n.shouldRun)
		switch {
		case len(on) == 0:
			continue
		case !n.shouldRun:
			misscheduled++
			continue
		}
		p := on[0]
		current++
		ready += one(p.IsReady())
		available += one(r.isAvailable(p))
		updated += one(r.isUpdated(p))
	}
	status := control.Status{
		"currentNumberScheduled": current, "numberMisscheduled": misscheduled, "desiredNumberScheduled": desired, "numberReady": ready,
	}
	status.SetNonZero("observedGeneration", r.set.GetGeneration())
	status.SetNonZero("updatedNumberScheduled", updated)
	status.SetNonZero("numberAvailable", available)
	status.SetNonZero("numberUnavailable", desired-available)
	if n := fields.Int64(r.set.Object, 0, "status", "collisionCount"); n > 0 {
		status["collisionCount"] = n
	}
	conditions.Of(r.set).WriteTo(status)
	return status
}
