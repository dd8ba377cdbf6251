package workloads

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/lists"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/scheduling"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// DaemonSets returns the controller that keeps a Pod on each Node that a DaemonSet is for. A
// scheduler has to bind the Pods. A Pod that fails is replaced at once. If Pods continue to fail on
// that Node, the delay is 1 s, 2 s, 4 s, doubled each time up to 15 minutes.
//
// The controller keeps state. Create a separate controller for each loop.
func DaemonSets() reconcile.Controller {
	b := newDaemonBackoff()
	return reconcile.Controller{
		Name: "daemonset", Component: "daemonset-controller", For: kinds.DaemonSet,
		Indexes: []*reconcile.Index{pods.ByNode},
		Watches: append(control.WatchOwned(kinds.Pod, kinds.DaemonSet),
			reconcile.Watch{Kind: kinds.Pod, Map: b.noteReady},
			reconcile.Watch{Kind: kinds.ControllerRevision},
			reconcile.Watch{Kind: kinds.Node, Map: affectedByNode},
		),
		Reconcile: control.OnExisting(kinds.DaemonSet, func(c control.Call, set *unstructured.Unstructured) (reconcile.Result, error) {
			return reconcileDaemonSet(c, set, b)
		}),
	}
}

// A daemonRun is one reconcile of a DaemonSet.
type daemonRun struct {
	control.Call
	backoff                             *daemonBackoff
	set                                 *unstructured.Unstructured
	hash                                string // of the present template
	nodes                               []daemonNode
	claimed                             []pods.Pod
	podsOn                              map[string][]pods.Pod // by name of the Node: bound Pods first, then the oldest
	desired                             int64                 // how many Nodes are to have a Pod
	surge, unavailable, minReadySeconds int64
	acted                               bool // whether Pods were created or deleted
}

// A daemonNode is a Node and whether a Pod of the DaemonSet must be started there, and may continue
// to run.
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
	b.wakeReady(set, c.Now)
	r := newDaemonRun(c, set, h, claimed)
	r.backoff = b
	if err = r.act(); err == nil {
		err = r.truncateHistory(h)
	}
	status := r.status()
	if statusErr := r.WriteStatus(set, status); err == nil {
		err = statusErr
	}
	return reconcile.Result{After: b.after(set, c.Now)}, err
}

func newDaemonRun(c control.Call, set *unstructured.Unstructured, h history, claimed []pods.Pod) *daemonRun {
	r := &daemonRun{
		Call: c, set: set, hash: fields.Label(h.update, revisionLabel), claimed: claimed, podsOn: map[string][]pods.Pod{},
		minReadySeconds: fields.Int64(set.Object, 0, "spec", "minReadySeconds"),
	}
	for _, p := range claimed {
		if p.IsTerminating() && p.IsTerminal() {
			continue // it needs no further work
		}
		node := targetNode(p)
		r.podsOn[node] = append(r.podsOn[node], p)
	}
	for _, on := range r.podsOn {
		slices.SortStableFunc(on, func(a, b pods.Pod) int {
			return cmp.Or(cmp.Compare(one(a.NodeName() == ""), one(b.NodeName() == "")), fields.ByAge(a.Unstructured, b.Unstructured))
		})
	}
	pod := scheduling.NewPodInfo(daemonPod(set).Unstructured)
	for _, node := range c.Cache.List(kinds.Node, "") {
		n := daemonNodeOf(node, pod)
		r.desired += one(n.shouldRun)
		r.nodes = append(r.nodes, n)
	}
	r.readStrategy()
	return r
}

// readStrategy reads how many Pods may be unavailable in a rollout, and how many may run in
// addition to old Pods.
func (r *daemonRun) readStrategy() {
	if r.isOnDelete() {
		return
	}
	rolling := fields.Map(r.set.Object, "spec", "updateStrategy", "rollingUpdate")
	r.surge, _ = fields.IntOrPercent(fields.Value(rolling, "maxSurge"), r.desired, true)
	r.unavailable, _ = fields.IntOrPercent(fields.Value(rolling, "maxUnavailable"), r.desired, true)
	if r.surge == 0 && r.unavailable == 0 {
		r.unavailable = 1
	}
}

func (r *daemonRun) isOnDelete() bool {
	return fields.String(r.set.Object, "spec", "updateStrategy", "type") == "OnDelete"
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

// targetNode returns the Node of a Pod. Before the Pod is bound, it returns the Node that the Pod
// is meant for.
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
	is, _ := p.Available(r.minReadySeconds, r.Now)
	return is
}

// act creates and deletes Pods so that each Node has one, and then replaces Pods of an old
// template. If it has created or deleted Pods, it does not replace any: it is called again when the
// changes are seen.
func (r *daemonRun) act() error {
	if err := r.manage(); err != nil || r.acted || r.isOnDelete() {
		return err
	}
	if r.surge > 0 {
		return r.rollingUpdateWithSurge()
	}
	return r.rollingUpdate()
}

func (r *daemonRun) manage() error {
	var create []string
	var remove []pods.Pod
	for _, n := range r.nodes {
		on := r.podsOn[n.name]
		switch {
		case n.shouldRun && len(on) == 0:
			create = append(create, n.name)
		case n.shouldContinueToRun:
			unneeded, none := r.unneeded(on)
			if remove = append(remove, unneeded...); none && n.shouldRun && r.surge > 0 {
				create = append(create, n.name)
			}
		default:
			remove = append(remove, on...)
		}
	}
	return r.sync(create, append(remove, r.podsOfMissingNodes()...))
}

// unneeded returns the terminal Pods of a Node, and the Pods beyond the first. It also reports
// whether no Pod is left. With a surge, a Node can have one Pod of each template, until the new one
// is available.
func (r *daemonRun) unneeded(on []pods.Pod) (unneeded []pods.Pod, none bool) {
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
	}
	return append(terminal, extra...), len(running) == 0
}

// mayDeleteTerminal reports whether a terminal Pod may be deleted. A failed Pod stays for a while
// if other Pods failed before it on its Node.
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

// extraWithSurge returns the surplus Pods: all except the oldest of each template, and the old Pod
// once the new one is available or the old one is not ready.
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

// podsOfMissingNodes returns Pods that are not bound and are for a Node that is gone.
func (r *daemonRun) podsOfMissingNodes() (missing []pods.Pod) {
	exists := map[string]bool{}
	for _, n := range r.nodes {
		exists[n.name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(r.podsOn)) {
		if !exists[name] {
			missing = append(missing, lists.Filter(r.podsOn[name], func(p pods.Pod) bool { return p.NodeName() == "" })...)
		}
	}
	return missing
}

// truncateHistory deletes the oldest revisions that are not in use, until spec.revisionHistoryLimit
// old ones are left. Unlike with a StatefulSet, this number includes the revisions in use.
func (r *daemonRun) truncateHistory(h history) error {
	old := lists.Filter(h.all, func(rev *unstructured.Unstructured) bool { return rev != h.update })
	tooMany := len(old) - int(fields.Int64(r.set.Object, 10, "spec", "revisionHistoryLimit"))
	unused := lists.Filter(old, func(rev *unstructured.Unstructured) bool { return !r.inUse(rev) })
	return r.DeleteAll(unused[:max(0, min(tooMany, len(unused)))])
}

func (r *daemonRun) inUse(rev *unstructured.Unstructured) bool {
	return slices.ContainsFunc(r.claimed, func(p pods.Pod) bool {
		return fields.Label(p.Unstructured, revisionLabel) == fields.Label(rev, revisionLabel)
	})
}

// status counts Nodes by their first Pods: the bound Pod, or the oldest. While some Pods are ready
// and not available, the next look at the DaemonSet is after minReadySeconds, as in
// kube-controller-manager, and not when the Pods become available.
func (r *daemonRun) status() control.Status {
	var current, misscheduled, ready, updated, available int64
	for _, n := range r.nodes {
		on := r.podsOn[n.name]
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
	if ready != available && r.minReadySeconds > 0 {
		r.backoff.wakeAt(r.set, r.Now.Add(fields.Seconds(r.minReadySeconds)))
	}
	status := control.Status{
		"currentNumberScheduled": current, "numberMisscheduled": misscheduled, "desiredNumberScheduled": r.desired, "numberReady": ready,
	}
	status.SetNonZero("observedGeneration", r.set.GetGeneration())
	status.SetNonZero("updatedNumberScheduled", updated)
	status.SetNonZero("numberAvailable", available)
	status.SetNonZero("numberUnavailable", r.desired-available)
	if n := fields.Int64(r.set.Object, 0, "status", "collisionCount"); n > 0 {
		status["collisionCount"] = n
	}
	conditions.Of(r.set).WriteTo(status)
	return status
}
