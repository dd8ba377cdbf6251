package workloads

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// StatefulSets returns the controller that keeps Pods with ordinals, each with its own claims, by
// default one after another. The retention policy decides about the owners of the claims, so that a
// claim is collected with a surplus Pod, or with the StatefulSet.
//
// The controller keeps state. Create a separate controller for each loop.
func StatefulSets() reconcile.Controller {
	const name = "statefulset"
	t := tracker[*setPods]{}
	return reconcile.Controller{
		Name: name, Component: "statefulset-controller", For: kinds.StatefulSet,
		Watches: slices.Concat(t.watches(name, kinds.StatefulSet), control.WatchOwned(kinds.Pod, kinds.StatefulSet), []reconcile.Watch{
			{Kind: kinds.ControllerRevision, Map: nobody}, // as kube-controller-manager, which looks at them only when it looks at the set
			{Kind: kinds.PersistentVolumeClaim, Map: setsOfGoneClaims},
			{Kind: kinds.PersistentVolumeClaim, Map: func(c *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
				unsettle(c, ch, t)
				return nil
			}},
		}),
		Reconcile: control.OnExisting(kinds.StatefulSet, func(c control.Call, set *unstructured.Unstructured) (reconcile.Result, error) {
			return reconcileStatefulSet(c, set, t)
		}),
	}
}

func nobody(*reconcile.Cache, reconcile.Change) []types.NamespacedName { return nil }

// A statefulRun is one reconcile of a StatefulSet. Its Pods are as they were at the start: later
// changes, its own among them, bring the key back.
type statefulRun struct {
	control.Call
	set     *unstructured.Unstructured
	history history
	current *unstructured.Unstructured // the revision that is being replaced
	pods    *setPods                   // as they are now
	plan

	setCounts
	inRevision map[string]int64 // how many Pods of a revision are not being deleted
	labelled   map[string]int   // how many Pods have a revision
	next       time.Duration    // until a ready Pod is available

	start, end, partition int64 // ordinals
	onDelete, ordered     bool
	retention             retention
	deleted               int64 // Pods that were deleted now because of their revision
}

func reconcileStatefulSet(c control.Call, set *unstructured.Unstructured, t tracker[*setPods]) (reconcile.Result, error) {
	if known, ok := t.of(set.GetUID()); ok && !object.DeepEqual(known.spec, fields.Map(set.Object, "spec")) {
		delete(t, set.GetUID())
	}
	all, err := t.claim(c, set, pods.Claim, func() *setPods { return newSetPods(set) })
	if err != nil {
		return reconcile.Result{}, err
	}
	h, err := syncRevisions(c, set, revisionHashLabel)
	if err != nil {
		return reconcile.Result{}, err
	}
	r := newStatefulRun(c, set, h, all)
	if !fields.IsTerminating(set) {
		err = r.act()
	}
	if statusErr := r.WriteStatus(set, r.status()); err == nil {
		err = statusErr
	}
	if !fields.IsTerminating(set) {
		err = errors.Join(err, truncateHistory(c, h, set, r.inUse))
	}
	return reconcile.Result{After: r.next}, err
}

func newStatefulRun(c control.Call, set *unstructured.Unstructured, h history, all *setPods) *statefulRun {
	spec := fields.Map(set.Object, "spec")
	start := fields.Int64(spec, 0, "ordinals", "start")
	r := &statefulRun{
		Call: c, set: set, history: h, pods: all, next: all.refresh(c.Now),
		start: start, end: start + max(0, fields.Int64(spec, 1, "replicas")),
		partition: start + max(0, fields.Int64(spec, 0, "updateStrategy", "rollingUpdate", "partition")),
		onDelete:  fields.String(spec, "updateStrategy", "type") == "OnDelete",
		retention: retentionOf(set),
		ordered:   fields.String(spec, "podManagementPolicy") != "Parallel",
		labelled:  maps.Clone(all.labelled), inRevision: map[string]int64{},
	}
	if r.current = h.named(fields.String(set.Object, "status", "currentRevision")); r.current == nil {
		r.current = h.update
	}
	r.setCounts = all.setCounts
	for revision, of := range all.revisions {
		r.inRevision[revision] = int64(len(of))
	}
	r.plan = r.newPlan(all.unique(start, r.end))
	return r
}

// act creates missing Pods, deletes surplus Pods, and replaces Pods of another revision. In an
// ordered set it does one thing at a time, and waits for each Pod to be available, or gone.
func (r *statefulRun) act() error {
	if stop, err := r.processReplicas(); stop {
		return err
	}
	fixClaims := func(m *member) (wait bool, err error) {
		_, err = r.updateClaims(m)
		return false, err
	}
	if stop, err := r.forAll(r.condemned, fixClaims); stop {
		return err
	}
	if stop, err := r.forAll(r.surplus, r.processCondemned); stop {
		return err
	}
	if r.onDelete || r.outdated == nil {
		return nil
	}
	r.deleted++
	return r.deletePod(r.outdated.Unstructured)
}

// processReplicas corrects the existing Pods and creates missing ones. An ordered set waits for the
// first missing Pod; another set creates as many Pods as it has room for.
func (r *statefulRun) processReplicas() (stop bool, err error) {
	stop, err = r.forAll(r.places, r.processReplica)
	if stop || r.ordered || int64(len(r.places)) == r.end-r.start {
		return stop, err
	}
	return true, r.NoRoom(r.set)
}

// forAll calls a function for Pods. In an ordered set it calls it one after another, until the set
// has to wait for a Pod. Otherwise it calls it in batches, until one returns an error.
func (r *statefulRun) forAll(all members, do func(*member) (wait bool, err error)) (stop bool, err error) {
	if !r.ordered {
		err = r.SlowStart(len(all), func(i int) error {
			_, err := do(all[i])
			return err
		})
		return err != nil, err
	}
	for _, m := range all {
		if wait, err := do(m); err != nil || wait {
			return true, err
		}
	}
	return false, nil
}

// processReplica brings one Pod in line. It reports whether an ordered set has to wait for it.
func (r *statefulRun) processReplica(m *member) (wait bool, err error) {
	switch {
	case m.isMissing() && r.hasStaleClaim(m.ordinal):
		return true, nil
	case m.isMissing():
		return true, r.createPod(m.ordinal)
	case m.IsTerminal() && m.IsTerminating():
		return true, nil
	case m.IsTerminal():
		return true, r.deletePod(m.Unstructured)
	case m.Phase() == "Pending" && !m.IsTerminating():
		if err := r.ensureClaims(m.ordinal); err != nil {
			return true, err
		}
		if _, err := r.updateClaims(m); err != nil {
			return true, err
		}
	}
	if wait = m.isUnavailable(); wait && r.ordered {
		return true, nil
	}
	changed, err := r.updateClaims(m)
	if changed || err != nil {
		r.recordPod("Update", m.GetName(), err)
	}
	return wait, err
}

// processCondemned deletes a surplus Pod. It reports whether an ordered set has to wait.
func (r *statefulRun) processCondemned(m *member) (wait bool, err error) {
	switch {
	case m.IsTerminating():
		return true, nil
	case r.ordered && m.isUnavailable() && m != r.first:
		return true, nil
	}
	return true, r.deletePod(m.Unstructured)
}

// createPod creates a Pod and its claims. Below the partition it has the old revision.
func (r *statefulRun) createPod(ordinal int64) error {
	rev := r.history.update
	if !r.onDelete && ordinal < r.partition {
		rev = r.current
	}
	name := r.podName(ordinal)
	if err := r.ensureClaims(ordinal); err != nil {
		r.recordPod("Create", name, err)
		return err
	}
	created, err := r.Create(r.newPod(ordinal, rev))
	if apierrors.IsAlreadyExists(err) {
		return err
	}
	r.recordPod("Create", name, err)
	if err != nil {
		return err
	}
	if _, err = r.updateClaims(&member{Pod: pods.Of(created), ordinal: ordinal}); err != nil {
		r.recordPod("Update", name, err)
	}
	return err
}

func (r *statefulRun) podName(ordinal int64) string {
	return fmt.Sprintf("%s-%d", r.set.GetName(), ordinal)
}

func (r *statefulRun) newPod(ordinal int64, rev *unstructured.Unstructured) *unstructured.Unstructured {
	p := pods.FromTemplate(r.set, templateOf(rev))
	metadata, name := control.Metadata(p.Unstructured), r.podName(ordinal)
	metadata["name"], metadata["generateName"] = name, r.set.GetName()+"-"
	labels := fields.CloneMap(metadata, "labels")
	labels["statefulset.kubernetes.io/pod-name"] = name
	labels["apps.kubernetes.io/pod-index"] = strconv.FormatInt(ordinal, 10)
	labels[revisionLabel] = rev.GetName()
	metadata["labels"] = labels
	spec := specOf(p)
	spec["hostname"] = name
	if service := fields.String(r.set.Object, "spec", "serviceName"); service != "" {
		spec["subdomain"] = service
	}
	r.mountClaims(spec, ordinal)
	return p.Unstructured
}

// mountClaims gives a Pod volumes of its claims, in place of volumes of the same names.
func (r *statefulRun) mountClaims(spec map[string]any, ordinal int64) {
	var volumes []any
	claimed := map[string]bool{}
	for _, template := range fields.Maps(r.set.Object, "spec", "volumeClaimTemplates") {
		name := fields.String(template, "metadata", "name")
		claimed[name] = true
		volumes = append(volumes, map[string]any{
			"name": name, "persistentVolumeClaim": map[string]any{"claimName": name + "-" + r.podName(ordinal)},
		})
	}
	for _, v := range fields.Maps(spec, "volumes") {
		if !claimed[fields.String(v, "name")] {
			volumes = append(volumes, v)
		}
	}
	if len(volumes) > 0 {
		spec["volumes"] = volumes
	}
}

// ensureClaims creates the claims of a Pod that are missing. They stay when the Pod is deleted.
func (r *statefulRun) ensureClaims(ordinal int64) error {
	for _, template := range fields.Maps(r.set.Object, "spec", "volumeClaimTemplates") {
		claim := control.NewObject(kinds.PersistentVolumeClaim, r.Name.Namespace, fields.String(template, "metadata", "name")+"-"+r.podName(ordinal))
		if known := r.Cache.Get(kinds.PersistentVolumeClaim, control.NameOf(claim)); known != nil {
			if fields.IsTerminating(known) {
				return fmt.Errorf("pvc %s is being deleted", known.GetName())
			}
			continue
		}
		metadata, labels := control.Metadata(claim), fields.CloneMap(template, "metadata", "labels")
		maps.Copy(labels, fields.Map(r.set.Object, "spec", "selector", "matchLabels"))
		metadata["labels"] = labels
		if annotations := fields.Map(template, "metadata", "annotations"); len(annotations) > 0 {
			metadata["annotations"] = maps.Clone(annotations)
		}
		claim.Object["spec"] = maps.Clone(fields.Map(template, "spec"))
		if err := r.createClaim(claim, r.podName(ordinal)); err != nil {
			return err
		}
	}
	return nil
}

// inUse reports whether a Pod has a revision, or a rollout is replacing the revision.
func (r *statefulRun) inUse(rev *unstructured.Unstructured) bool {
	return rev == r.current || r.labelled[rev.GetName()] > 0
}
