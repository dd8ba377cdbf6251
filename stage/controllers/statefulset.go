package controllers

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// StatefulSets returns the controller that keeps numbered Pods, each with claims of its own: by default one after another. It does not
// delete claims, whatever the retention policy says.
func StatefulSets() reconcile.Controller {
	watches := append(claims(pods, statefulSets), reconcile.Watch{Kind: controllerRevisions}, reconcile.Watch{
		Kind: volumeClaims, Map: func(*reconcile.Cache, reconcile.Change) []types.NamespacedName { return nil }, // for the cache
	})
	return reconcile.Controller{Name: "statefulset", For: statefulSets, Watches: watches, Reconcile: on(statefulSets, reconcileStatefulSet)}
}

// A statefulRun is one look at a StatefulSet.
type statefulRun struct {
	call
	set      *unstructured.Unstructured
	history  history
	current  *unstructured.Unstructured // the revision that is being left
	all      []pod
	replicas []pod // by number; a Pod that is missing is without an object
	excess   []pod // those with a number out of range, the highest first

	start, partition, minReady int64
	onDelete, ordered          bool
	outdated                   int64 // Pods that this look has deleted because of their revision
}

func reconcileStatefulSet(c call, set *unstructured.Unstructured) (reconcile.Result, error) {
	all, err := c.claimPods(set, selectorAt(set))
	if err != nil {
		return reconcile.Result{}, err
	}
	h, err := c.history(set, revisionHashLabel)
	if err != nil {
		return reconcile.Result{}, err
	}
	r := newStatefulRun(c, set, h, all)
	if !isTerminating(set) {
		err = r.act()
	}
	status, after := r.status()
	if statusErr := r.writeStatus(set, status); err == nil {
		err = statusErr
	}
	if err == nil && !isTerminating(set) {
		err = c.truncate(h, set, r.inUse)
	}
	return reconcile.Result{After: after}, err
}

func newStatefulRun(c call, set *unstructured.Unstructured, h history, all []pod) *statefulRun {
	spec := tree(set.Object, "spec")
	r := &statefulRun{
		call: c, set: set, history: h, all: all,
		start:     number(spec, 0, "ordinals", "start"),
		partition: number(spec, 0, "updateStrategy", "rollingUpdate", "partition"),
		minReady:  number(spec, 0, "minReadySeconds"),
		onDelete:  text(spec, "updateStrategy", "type") == "OnDelete",
		ordered:   text(spec, "podManagementPolicy") != "Parallel",
		replicas:  make([]pod, max(0, number(spec, 1, "replicas"))),
	}
	if r.current = h.named(text(set.Object, "status", "currentRevision")); r.current == nil {
		r.current = h.update
	}
	for _, p := range all {
		switch i := ordinalOf(p.GetName()) - r.start; {
		case i >= 0 && i < int64(len(r.replicas)):
			r.replicas[i] = p
		case ordinalOf(p.GetName()) >= 0:
			r.excess = append(r.excess, p)
		}
	}
	slices.SortFunc(r.excess, func(a, b pod) int { return cmp.Compare(ordinalOf(b.GetName()), ordinalOf(a.GetName())) })
	return r
}

// act makes the Pods that are missing, deletes those that are too many, and replaces those of another revision. In an ordered set it does one
// thing at a time, and waits for each Pod to be available, or gone.
func (r *statefulRun) act() error {
	for i := range r.replicas {
		if wait, err := r.ensure(i); err != nil || wait && r.ordered {
			return err
		}
	}
	first := r.firstUnavailable()
	for _, p := range r.excess {
		if wait, err := r.condemn(p, first); err != nil || wait && r.ordered {
			return err
		}
	}
	if r.onDelete {
		return nil
	}
	return r.replace()
}

// ensure sees to one Pod. It reports whether an ordered set has to wait for it.
func (r *statefulRun) ensure(i int) (wait bool, err error) {
	p := r.replicas[i]
	switch {
	case p.Unstructured == nil:
		return true, r.add(i)
	case p.ended() && p.terminating():
		return true, nil
	case p.ended():
		return true, r.delete(p.Unstructured)
	case p.phase() == "Pending" && !p.terminating():
		if err := r.ensureClaims(r.start + int64(i)); err != nil {
			return true, err
		}
	}
	return r.isUnavailable(p), nil
}

func (r *statefulRun) isUnavailable(p pod) bool {
	if p.Unstructured == nil || p.terminating() {
		return true
	}
	is, _ := p.available(r.minReady, r.Now)
	return !is
}

// firstUnavailable is the Pod with the lowest number that does not work; others wait for it to be mended.
func (r *statefulRun) firstUnavailable() pod {
	for _, p := range append(slices.Clip(r.replicas), reversed(r.excess)...) {
		if r.isUnavailable(p) {
			return p
		}
	}
	return pod{}
}

func reversed[T any](s []T) []T {
	s = slices.Clone(s)
	slices.Reverse(s)
	return s
}

// condemn deletes a Pod that is one too many. It reports whether an ordered set has to wait.
func (r *statefulRun) condemn(p, first pod) (wait bool, err error) {
	switch {
	case p.terminating():
		return true, nil
	case r.ordered && r.isUnavailable(p) && p != first:
		return true, nil
	}
	return true, r.delete(p.Unstructured)
}

// replace deletes the Pod with the highest number that has another revision, once those above it are available.
func (r *statefulRun) replace() error {
	for i := len(r.replicas) - 1; int64(i) >= r.partition; i-- {
		p := r.replicas[i]
		if p.Unstructured == nil {
			return nil
		}
		if label(p.Unstructured, revisionLabel) != r.history.update.GetName() && !p.terminating() {
			r.outdated++
			return r.delete(p.Unstructured)
		}
		if r.isUnavailable(p) {
			return nil
		}
	}
	return nil
}

// add makes a Pod and its claims. Below the partition it has the old revision.
func (r *statefulRun) add(i int) error {
	ordinal, rev := r.start+int64(i), r.history.update
	if !r.onDelete && int64(i) < r.partition {
		rev = r.current
	}
	if err := r.ensureClaims(ordinal); err != nil {
		return err
	}
	_, err := r.create(r.newPod(ordinal, rev))
	return err
}

func (r *statefulRun) podName(ordinal int64) string {
	return fmt.Sprintf("%s-%d", r.set.GetName(), ordinal)
}

func (r *statefulRun) newPod(ordinal int64, rev *unstructured.Unstructured) *unstructured.Unstructured {
	p := newPod(r.set, templateOf(rev))
	metadata, name := p.Object["metadata"].(map[string]any), r.podName(ordinal)
	metadata["name"], metadata["generateName"] = name, r.set.GetName()+"-"
	labels := maps.Clone(tree(metadata, "labels"))
	if labels == nil {
		labels = map[string]any{}
	}
	labels["statefulset.kubernetes.io/pod-name"] = name
	labels["apps.kubernetes.io/pod-index"] = strconv.FormatInt(ordinal, 10)
	labels[revisionLabel] = rev.GetName()
	metadata["labels"] = labels
	spec := tree(p.Object, "spec")
	if spec == nil {
		spec = map[string]any{}
		p.Object["spec"] = spec
	}
	spec["hostname"] = name
	if service := text(r.set.Object, "spec", "serviceName"); service != "" {
		spec["subdomain"] = service
	}
	r.mount(spec, ordinal)
	return p
}

// mount gives a Pod its claims, in place of volumes of the same names.
func (r *statefulRun) mount(spec map[string]any, ordinal int64) {
	var volumes []any
	claimed := map[string]bool{}
	for _, template := range trees(r.set.Object, "spec", "volumeClaimTemplates") {
		name := text(template, "metadata", "name")
		claimed[name] = true
		volumes = append(volumes, map[string]any{
			"name": name, "persistentVolumeClaim": map[string]any{"claimName": name + "-" + r.podName(ordinal)},
		})
	}
	for _, v := range trees(spec, "volumes") {
		if !claimed[text(v, "name")] {
			volumes = append(volumes, v)
		}
	}
	if len(volumes) > 0 {
		spec["volumes"] = volumes
	}
}

// ensureClaims makes the claims of a Pod that are missing. They stay when the Pod goes.
func (r *statefulRun) ensureClaims(ordinal int64) error {
	for _, template := range trees(r.set.Object, "spec", "volumeClaimTemplates") {
		claim := newObject(volumeClaims, r.Name.Namespace, text(template, "metadata", "name")+"-"+r.podName(ordinal))
		if r.Cache.Get(volumeClaims, nameOf(claim)) != nil {
			continue
		}
		metadata, labels := claim.Object["metadata"].(map[string]any), maps.Clone(tree(template, "metadata", "labels"))
		if labels == nil {
			labels = map[string]any{}
		}
		maps.Copy(labels, tree(r.set.Object, "spec", "selector", "matchLabels"))
		metadata["labels"] = labels
		if annotations := tree(template, "metadata", "annotations"); len(annotations) > 0 {
			metadata["annotations"] = maps.Clone(annotations)
		}
		claim.Object["spec"] = maps.Clone(tree(template, "spec"))
		if _, err := r.create(claim); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// inUse reports whether a revision is that of a Pod or the one that is being left.
func (r *statefulRun) inUse(rev *unstructured.Unstructured) bool {
	return rev == r.current || slices.ContainsFunc(r.all, func(p pod) bool { return label(p.Unstructured, revisionLabel) == rev.GetName() })
}
