package workloads

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/lists"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// StatefulSets returns the controller that keeps Pods with ordinals, each with its own claims, by
// default one after another. The retention policy decides about the owners of the claims, so that a
// claim is collected with a surplus Pod, or with the StatefulSet.
func StatefulSets() reconcile.Controller {
	return reconcile.Controller{
		Name: "statefulset", Component: "statefulset-controller", For: kinds.StatefulSet,
		Watches: append(control.WatchOwned(kinds.Pod, kinds.StatefulSet),
			reconcile.Watch{Kind: kinds.ControllerRevision, Map: nobody}, // as kube-controller-manager, which looks at them only when it looks at the set
			reconcile.Watch{Kind: kinds.PersistentVolumeClaim, Map: setsOfGoneClaims},
		),
		Reconcile: control.OnExisting(kinds.StatefulSet, reconcileStatefulSet),
	}
}

func nobody(*reconcile.Cache, reconcile.Change) []types.NamespacedName { return nil }

// A statefulRun is one reconcile of a StatefulSet.
type statefulRun struct {
	control.Call
	set       *unstructured.Unstructured
	history   history
	current   *unstructured.Unstructured // the revision that is being replaced
	all       []pods.Pod
	desired   int64              // spec.replicas
	replicas  map[int64]pods.Pod // existing Pods, by ordinal without start
	condemned []pods.Pod         // Pods with an ordinal out of range, the highest first

	start, partition, minReadySeconds int64
	onDelete, ordered                 bool
	retention                         retention
	deleted                           int64 // Pods that were deleted now because of their revision
}

func reconcileStatefulSet(c control.Call, set *unstructured.Unstructured) (reconcile.Result, error) {
	all, err := pods.Claim(c, set)
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
	status, after := r.status()
	if statusErr := r.WriteStatus(set, status); err == nil {
		err = statusErr
	}
	if !fields.IsTerminating(set) {
		err = errors.Join(err, truncateHistory(c, h, set, r.inUse))
	}
	return reconcile.Result{After: after}, err
}

func newStatefulRun(c control.Call, set *unstructured.Unstructured, h history, all []pods.Pod) *statefulRun {
	spec := fields.Map(set.Object, "spec")
	r := &statefulRun{
		Call: c, set: set, history: h, all: all,
		start:           fields.Int64(spec, 0, "ordinals", "start"),
		partition:       fields.Int64(spec, 0, "updateStrategy", "rollingUpdate", "partition"),
		minReadySeconds: fields.Int64(spec, 0, "minReadySeconds"),
		onDelete:        fields.String(spec, "updateStrategy", "type") == "OnDelete",
		retention:       retentionOf(set),
		ordered:         fields.String(spec, "podManagementPolicy") != "Parallel",
		desired:         max(0, fields.Int64(spec, 1, "replicas")),
		replicas:        map[int64]pods.Pod{},
	}
	if r.current = h.named(fields.String(set.Object, "status", "currentRevision")); r.current == nil {
		r.current = h.update
	}
	for _, p := range all {
		switch i := ordinalOf(p.GetName()) - r.start; {
		case i >= 0 && i < r.desired:
			r.replicas[i] = p
		case ordinalOf(p.GetName()) >= 0:
			r.condemned = append(r.condemned, p)
		}
	}
	slices.SortFunc(r.condemned, func(a, b pods.Pod) int {
		return cmp.Compare(ordinalOf(b.GetName()), ordinalOf(a.GetName()))
	})
	return r
}

// act creates missing Pods, deletes surplus Pods, and replaces Pods of another revision. In an
// ordered set it does one thing at a time, and waits for each Pod to be available, or gone.
func (r *statefulRun) act() error {
	if stop, err := r.processReplicas(); stop {
		return err
	}
	fixClaims := func(i int) (wait bool, err error) {
		_, err = r.updateClaims(r.condemned[i])
		return false, err
	}
	if stop, err := r.forAll(len(r.condemned), fixClaims); stop {
		return err
	}
	first := r.firstUnavailable()
	condemn := func(i int) (wait bool, err error) { return r.processCondemned(r.condemned[i], first) }
	if stop, err := r.forAll(len(r.condemned), condemn); stop {
		return err
	}
	if r.onDelete {
		return nil
	}
	return r.rollingUpdate()
}

// processReplicas corrects the existing Pods and creates missing ones. An ordered set waits for the
// first missing Pod; another set creates as many Pods as it has room for.
func (r *statefulRun) processReplicas() (stop bool, err error) {
	room := 1
	if !r.ordered {
		room = control.Room(int64(len(r.all)), lists.Count(r.all, pods.Pod.IsWaiting))
	}
	places := r.places(room)
	stop, err = r.forAll(len(places), func(i int) (wait bool, err error) { return r.processReplica(places[i]) })
	if stop || r.ordered || int64(len(places)) == r.desired {
		return stop, err
	}
	return true, r.NoRoom(r.set)
}

// places returns the ordinals, without start, of the Pods that exist and of the first n that are
// missing, in ascending order. Its length does not depend on spec.replicas.
func (r *statefulRun) places(n int) []int64 {
	places := slices.Collect(maps.Keys(r.replicas))
	for i := int64(0); i < r.desired && n > 0; i++ {
		if _, exists := r.replicas[i]; !exists {
			places = append(places, i)
			n--
		}
	}
	slices.Sort(places)
	return places
}

// forAll calls a function for 0 to n-1. In an ordered set it calls it one after another, until the
// set has to wait for a Pod. Otherwise it calls it in batches, until one returns an error.
func (r *statefulRun) forAll(n int, do func(i int) (wait bool, err error)) (stop bool, err error) {
	if !r.ordered {
		err = r.SlowStart(n, func(i int) error {
			_, err := do(i)
			return err
		})
		return err != nil, err
	}
	for i := range n {
		if wait, err := do(i); err != nil || wait {
			return true, err
		}
	}
	return false, nil
}

// processReplica brings one Pod in line. It reports whether an ordered set has to wait for it.
func (r *statefulRun) processReplica(i int64) (wait bool, err error) {
	p := r.replicas[i]
	switch {
	case p.Unstructured == nil && r.hasStaleClaim(r.start+i):
		return true, nil
	case p.Unstructured == nil:
		return true, r.createPod(i)
	case p.IsTerminal() && p.IsTerminating():
		return true, nil
	case p.IsTerminal():
		return true, r.deletePod(p.Unstructured)
	case p.Phase() == "Pending" && !p.IsTerminating():
		if err := r.ensureClaims(r.start + i); err != nil {
			return true, err
		}
		if _, err := r.updateClaims(p); err != nil {
			return true, err
		}
	}
	if wait = r.isUnavailable(p); wait && r.ordered {
		return true, nil
	}
	changed, err := r.updateClaims(p)
	if changed || err != nil {
		r.recordPod("Update", p.GetName(), err)
	}
	return wait, err
}

func (r *statefulRun) isUnavailable(p pods.Pod) bool {
	if p.Unstructured == nil || p.IsTerminating() {
		return true
	}
	is, _ := p.Available(r.minReadySeconds, r.Now)
	return !is
}

// firstUnavailable returns the Pod with the lowest ordinal that is not available: others wait for
// it.
func (r *statefulRun) firstUnavailable() pods.Pod {
	for i := range r.desired {
		if p := r.replicas[i]; r.isUnavailable(p) {
			return p // the zero Pod if it is missing
		}
	}
	for _, p := range slices.Backward(r.condemned) {
		if r.isUnavailable(p) {
			return p
		}
	}
	return pods.Pod{}
}

// processCondemned deletes a surplus Pod. It reports whether an ordered set has to wait.
func (r *statefulRun) processCondemned(p, first pods.Pod) (wait bool, err error) {
	switch {
	case p.IsTerminating():
		return true, nil
	case r.ordered && r.isUnavailable(p) && p != first:
		return true, nil
	}
	return true, r.deletePod(p.Unstructured)
}

// rollingUpdate deletes the Pod with the highest ordinal that has another revision, once the Pods
// above it are available.
func (r *statefulRun) rollingUpdate() error {
	for i := r.desired - 1; i >= r.partition; i-- {
		p := r.replicas[i]
		if p.Unstructured == nil {
			return nil
		}
		if fields.Label(p.Unstructured, revisionLabel) != r.history.update.GetName() && !p.IsTerminating() {
			r.deleted++
			return r.deletePod(p.Unstructured)
		}
		if r.isUnavailable(p) {
			return nil
		}
	}
	return nil
}

// createPod creates a Pod and its claims. Below the partition it has the old revision.
func (r *statefulRun) createPod(i int64) error {
	ordinal, rev := r.start+i, r.history.update
	if !r.onDelete && i < r.partition {
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
	if _, err = r.updateClaims(pods.Of(created)); err != nil {
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
	return rev == r.current || slices.ContainsFunc(r.all, func(p pods.Pod) bool {
		return fields.Label(p.Unstructured, revisionLabel) == rev.GetName()
	})
}

// ordinalOf returns the number at the end of a name, or -1.
func ordinalOf(name string) int64 {
	n, err := strconv.ParseInt(name[strings.LastIndexByte(name, '-')+1:], 10, 32)
	if err != nil {
		return -1
	}
	return n
}
