package controllers

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/patch"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// DaemonSets returns the controller that keeps a Pod on each node that a DaemonSet is for. A scheduler has to bind them. A Pod that fails is
// replaced a second later, however often it fails.
func DaemonSets() reconcile.Controller {
	everywhere := func(c *reconcile.Cache, ch reconcile.Change) (names []types.NamespacedName) {
		if ch.Old != nil && ch.New != nil && sameNode(ch.Old, ch.New) {
			return nil
		}
		for _, ds := range c.List(daemonSets, "") {
			names = append(names, nameOf(ds))
		}
		return names
	}
	watches := append(claims(pods, daemonSets), reconcile.Watch{Kind: controllerRevisions}, reconcile.Watch{Kind: nodes, Map: everywhere})
	return reconcile.Controller{Name: "daemonset", For: daemonSets, Watches: watches, Reconcile: on(daemonSets, reconcileDaemonSet)}
}

// daemonRetry is how long a Pod that failed stays.
const daemonRetry = time.Second

// A daemonRun is one look at a DaemonSet.
type daemonRun struct {
	call
	set                          *unstructured.Unstructured
	hash                         string
	nodes                        []daemonNode
	byNode                       map[string][]pod
	surge, unavailable, minReady int64
	again                        time.Duration
}

// A daemonNode is a node and whether a Pod is to be started there, and may go on.
type daemonNode struct {
	name            string
	starts, goingOn bool
}

func reconcileDaemonSet(c call, set *unstructured.Unstructured) (reconcile.Result, error) {
	if isTerminating(set) {
		return reconcile.Result{}, nil
	}
	all, err := c.claimPods(set, selectorAt(set))
	if err != nil {
		return reconcile.Result{}, err
	}
	h, err := c.history(set, revisionLabel)
	if err != nil {
		return reconcile.Result{}, err
	}
	r := newDaemonRun(c, set, h, all)
	if err = r.act(); err == nil {
		err = c.truncate(h, set, r.inUse)
	}
	status := r.status()
	if statusErr := r.writeStatus(set, status); err == nil {
		err = statusErr
	}
	return reconcile.Result{After: r.again}, err
}

func newDaemonRun(c call, set *unstructured.Unstructured, h history, all []pod) *daemonRun {
	r := &daemonRun{call: c, set: set, hash: label(h.update, revisionLabel), byNode: map[string][]pod{}, minReady: number(set.Object, 0, "spec", "minReadySeconds")}
	for _, p := range all {
		r.byNode[p.daemonNode()] = append(r.byNode[p.daemonNode()], p)
	}
	for _, on := range r.byNode {
		slices.SortStableFunc(on, func(a, b pod) int {
			return cmp.Or(cmp.Compare(truth(a.node() == ""), truth(b.node() == "")), byAge(a.Unstructured, b.Unstructured))
		})
	}
	request := newPodRequest(r.newPod("").Unstructured)
	var wanted int64
	for _, node := range c.Cache.List(nodes, "") {
		n := placeOf(node, &request, text(set.Object, "spec", "template", "spec", "nodeName"))
		wanted += int64(truth(n.starts))
		r.nodes = append(r.nodes, n)
	}
	rolling := tree(set.Object, "spec", "updateStrategy", "rollingUpdate")
	r.surge, _ = scaled(rolling["maxSurge"], wanted, true)
	r.unavailable, _ = scaled(rolling["maxUnavailable"], wanted, true)
	if r.surge == 0 && r.unavailable == 0 {
		r.unavailable = 1
	}
	return r
}

// placeOf asks whether a DaemonSet is for a node. On one with a taint that it does not tolerate it may go on, unless the taint evicts.
func placeOf(obj *unstructured.Unstructured, r *podRequest, only string) daemonNode {
	room := &nodeRoom{name: obj.GetName(), labels: tree(obj.Object, "metadata", "labels"), taints: taintsOf(obj)}
	n := daemonNode{name: room.name}
	if reasons, _ := unwanted(room, r); len(reasons) > 0 || only != "" && only != n.name {
		return n
	}
	reasons, _ := tainted(room, r)
	n.starts = len(reasons) == 0
	room.taints = keep(room.taints, func(t map[string]any) bool { return text(t, "effect") == "NoExecute" })
	reasons, _ = tainted(room, r)
	n.goingOn = len(reasons) == 0
	return n
}

// sameNode reports whether nothing changed that DaemonSets look at.
func sameNode(a, b *unstructured.Unstructured) bool {
	return patch.Equal(tree(a.Object, "metadata", "labels"), tree(b.Object, "metadata", "labels")) && reflect.DeepEqual(taintsOf(a), taintsOf(b))
}

// daemonNode is the node that a Pod is on or, before it is bound, the one that it is for.
func (p pod) daemonNode() string {
	if node := p.node(); node != "" {
		return node
	}
	required := tree(p.Object, "spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
	for _, term := range trees(required, "nodeSelectorTerms") {
		for _, f := range trees(term, "matchFields") {
			if values := list(f, "values"); text(f, "key") == "metadata.name" && len(values) == 1 {
				name, _ := values[0].(string)
				return name
			}
		}
	}
	return ""
}

func (r *daemonRun) updated(p pod) bool { return label(p.Unstructured, revisionLabel) == r.hash }

func (r *daemonRun) available(p pod) bool {
	is, left := p.available(r.minReady, r.Now)
	r.again = sooner(r.again, left)
	return is
}

// act makes and deletes Pods so that there is one on each node, and replaces those of an old template.
func (r *daemonRun) act() error {
	if err := r.manage(); err != nil {
		return err
	}
	if text(r.set.Object, "spec", "updateStrategy", "type") == "OnDelete" {
		return nil
	}
	if r.surge > 0 {
		return r.rollSurging()
	}
	return r.roll()
}

func (r *daemonRun) manage() error {
	for _, n := range r.nodes {
		on := r.byNode[n.name]
		switch {
		case n.starts && len(on) == 0:
			if err := r.add(n.name); err != nil {
				return err
			}
		case n.goingOn:
			if err := r.tidy(n, on); err != nil {
				return err
			}
		default:
			if err := r.deletePods(on); err != nil {
				return err
			}
		}
	}
	return r.deleteLost()
}

// tidy deletes the Pods of a node that have ended, and those beyond the first. While Pods surge there may be one of each template, until the new one
// is available.
func (r *daemonRun) tidy(n daemonNode, on []pod) error {
	var ended, running []pod
	for _, p := range on {
		switch {
		case p.terminating():
		case !p.ended():
			running = append(running, p)
		case r.mayRetry(p):
			ended = append(ended, p)
		}
	}
	extra := running[min(1, len(running)):]
	if r.surge > 0 {
		extra = r.surplus(running)
		if len(running) == 0 && n.starts && len(ended) == 0 && allTerminating(on) {
			return r.add(n.name)
		}
	}
	return r.deletePods(append(ended, extra...))
}

func allTerminating(on []pod) bool { return count(on, pod.terminating) == int64(len(on)) }

// mayRetry reports whether a Pod that ended may go; a failed one stays for a while.
func (r *daemonRun) mayRetry(p pod) bool {
	if p.phase() != "Failed" {
		return true
	}
	left := p.endedAt(r.Now).Add(daemonRetry).Sub(r.Now)
	r.again = sooner(r.again, max(0, left))
	return left <= 0
}

// surplus keeps the oldest Pod of each template, and of these only the new one once it is available or the old one is not.
func (r *daemonRun) surplus(running []pod) (extra []pod) {
	var fresh, old []pod
	for _, p := range running {
		if r.updated(p) {
			fresh = append(fresh, p)
		} else {
			old = append(old, p)
		}
	}
	if len(fresh) > 0 && len(old) > 0 && (!old[0].ready() || r.available(fresh[0])) {
		extra = append(extra, old[0])
	}
	return slices.Concat(extra, fresh[min(1, len(fresh)):], old[min(1, len(old)):])
}

// deleteLost deletes Pods that wait for a node that is gone.
func (r *daemonRun) deleteLost() error {
	there := map[string]bool{}
	for _, n := range r.nodes {
		there[n.name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(r.byNode)) {
		if there[name] {
			continue
		}
		waiting := keep(r.byNode[name], func(p pod) bool { return p.node() == "" })
		if err := r.deletePods(waiting); err != nil {
			return err
		}
	}
	return nil
}

func (r *daemonRun) deletePods(gone []pod) error {
	for _, p := range gone {
		if p.terminating() {
			continue
		}
		if err := r.delete(p.Unstructured); err != nil {
			return err
		}
	}
	return nil
}

// pair returns the Pod of the new template on a node and that of an old one. It is false if there are several.
func (r *daemonRun) pair(on []pod) (fresh, old pod, ok bool) {
	ok = true
	for _, p := range on {
		if p.terminating() {
			continue
		}
		which := &old
		if r.updated(p) {
			which = &fresh
		}
		ok = ok && which.Unstructured == nil
		*which = p
	}
	return fresh, old, ok
}

// roll deletes Pods of an old template: all that do not work, and as many others as may be missing.
func (r *daemonRun) roll() error {
	var missing int64
	var broken, working []pod
	for _, n := range r.nodes {
		on := r.byNode[n.name]
		if len(on) == 0 {
			continue
		}
		fresh, old, ok := r.pair(on)
		switch {
		case !ok || (fresh.Unstructured == nil) == (old.Unstructured == nil):
			missing++
		case old.Unstructured == nil:
			missing += int64(truth(!r.available(fresh)))
		case !r.available(old):
			broken = append(broken, old)
			missing++
		default:
			working = append(working, old)
		}
	}
	n := max(0, min(r.unavailable-missing, int64(len(working))))
	return r.deletePods(append(broken, working[:n]...))
}

// rollSurging makes Pods of the new template beside old ones: wherever the old one does not work, and on as many other nodes as may have two.
func (r *daemonRun) rollSurging() error {
	surging := r.surge
	var candidates []string
	for _, n := range r.nodes {
		fresh, old, ok := r.pair(r.byNode[n.name])
		switch {
		case !ok:
			surging--
		case old.Unstructured == nil:
		case fresh.Unstructured != nil:
			surging -= int64(truth(!r.available(fresh)))
		case n.starts && !r.available(old):
			if err := r.add(n.name); err != nil {
				return err
			}
		case n.starts:
			candidates = append(candidates, n.name)
		}
	}
	for _, name := range candidates[:max(0, min(int(surging), len(candidates)))] {
		if err := r.add(name); err != nil {
			return err
		}
	}
	return nil
}

func (r *daemonRun) inUse(rev *unstructured.Unstructured) bool {
	for _, on := range r.byNode {
		if slices.ContainsFunc(on, func(p pod) bool { return label(p.Unstructured, revisionLabel) == label(rev, revisionLabel) }) {
			return true
		}
	}
	return false
}
