package controllers

import (
	"cmp"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// Deployments returns the controller that rolls out Deployments by ReplicaSets.
func Deployments() reconcile.Controller {
	return reconcile.Controller{
		Name: "deployment", For: deployments, When: besidesOwnStatus("deployment"), Watches: claims(replicaSets, deployments),
		Reconcile: on(deployments, reconcileDeployment),
	}
}

const (
	templateHash    = "pod-template-hash"
	revisionKey     = "deployment.kubernetes.io/revision"
	historyKey      = "deployment.kubernetes.io/revision-history"
	desiredKey      = "deployment.kubernetes.io/desired-replicas"
	maxReplicasKey  = "deployment.kubernetes.io/max-replicas"
	rollbackKey     = "deprecated.deployment.rollback.to"
	lastAppliedKey  = "kubectl.kubernetes.io/last-applied-configuration"
	longestHistory  = 2000 // characters of the annotation
	defaultFraction = "25%"
)

// A deploymentSpec is what a Deployment asks for, with the defaults of the API server.
type deploymentSpec struct {
	replicas, surge, unavailable int64 // the latter two are 0 unless it is rolled
	minReady, history            int64
	recreate, paused             bool
	deadline                     time.Duration // 0: none
}

func readDeployment(d *unstructured.Unstructured) deploymentSpec {
	spec := tree(d.Object, "spec")
	s := deploymentSpec{
		replicas: number(spec, 1, "replicas"),
		minReady: number(spec, 0, "minReadySeconds"),
		history:  number(spec, 10, "revisionHistoryLimit"),
		recreate: text(spec, "strategy", "type") == "Recreate",
		paused:   flag(spec, "paused"),
	}
	if n := number(spec, 600, "progressDeadlineSeconds"); n != math.MaxInt32 {
		s.deadline = seconds(n)
	}
	if !s.recreate {
		s.surge, s.unavailable = fenceposts(tree(spec, "strategy", "rollingUpdate"), s.replicas)
	}
	return s
}

// fenceposts returns how many Pods there may be too many and how many may be missing while they are replaced. Both 0 would be a standstill.
func fenceposts(rolling map[string]any, replicas int64) (surge, unavailable int64) {
	surge, _ = scaled(orDefault(rolling["maxSurge"]), replicas, true)
	unavailable, _ = scaled(orDefault(rolling["maxUnavailable"]), replicas, false)
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return surge, min(unavailable, replicas)
}

func orDefault(v any) any {
	if v == nil {
		return defaultFraction
	}
	return v
}

// A rollout is one look at a Deployment.
type rollout struct {
	call
	deployment *unstructured.Unstructured
	spec       deploymentSpec
	current    *unstructured.Unstructured   // the ReplicaSet with the template of the Deployment; nil if there is none
	old        []*unstructured.Unstructured // the others, the oldest first
	conditions conditions                   // as they stand before the status is computed
	collisions any                          // status.collisionCount
}

func reconcileDeployment(c call, d *unstructured.Unstructured) (reconcile.Result, error) {
	if err := checkSelector(d, selectorAt(d)); err != nil {
		return reconcile.Result{}, err
	}
	sets, err := c.claim(replicaSets, d, selectorAt(d))
	if err != nil {
		return reconcile.Result{}, err
	}
	r := &rollout{call: c, deployment: d, spec: readDeployment(d), conditions: conditionsOf(d), collisions: tree(d.Object, "status")["collisionCount"]}
	r.divide(sets)
	if isTerminating(d) {
		return reconcile.Result{}, r.report(r.status())
	}
	r.notePause()
	if err := r.numberRevision(); err != nil {
		return reconcile.Result{}, err
	}
	if r.spec.paused || r.isScaled() {
		return reconcile.Result{}, r.resize()
	}
	if err := r.roll(); err != nil {
		return reconcile.Result{}, err
	}
	return r.finish()
}

// divide tells the ReplicaSet of the present template from the others.
func (r *rollout) divide(sets []*unstructured.Unstructured) {
	slices.SortStableFunc(sets, byAge)
	template := tree(r.deployment.Object, "spec", "template")
	for _, rs := range sets {
		if r.current == nil && sameTemplate(template, tree(rs.Object, "spec", "template")) {
			r.current = rs
		} else {
			r.old = append(r.old, rs)
		}
	}
}

// all returns the ReplicaSets, the old ones first.
func (r *rollout) all() []*unstructured.Unstructured {
	if r.current == nil {
		return r.old
	}
	return append(slices.Clip(r.old), r.current)
}

// replace notes that a ReplicaSet has a new version.
func (r *rollout) replace(rs *unstructured.Unstructured) {
	if r.current != nil && r.current.GetUID() == rs.GetUID() {
		r.current = rs
	}
	for i, old := range r.old {
		if old.GetUID() == rs.GetUID() {
			r.old[i] = rs
		}
	}
}

// resize scales what is there without rolling anything out: the Deployment is paused, or its number of replicas has changed.
func (r *rollout) resize() error {
	if err := r.scale(); err != nil {
		return err
	}
	if r.spec.paused {
		if err := r.dropHistory(); err != nil {
			return err
		}
	}
	return r.report(r.status())
}

// roll goes one step from the old ReplicaSets to the current one.
func (r *rollout) roll() error {
	if r.spec.recreate {
		return r.rollRecreate()
	}
	return r.rollGradually()
}

// finish writes the status and says when to look whether the deadline was missed.
func (r *rollout) finish() (reconcile.Result, error) {
	status := r.progress(r.status())
	if err := r.report(status); err != nil {
		return reconcile.Result{}, err
	}
	progressing := conditions(list(status, "conditions")).find("Progressing")
	since, ok := timeAt(progressing, "lastUpdateTime")
	reason := progressing.field("reason")
	if !ok || r.spec.deadline == 0 || r.isComplete(status) || reason == "ProgressDeadlineExceeded" {
		return reconcile.Result{}, nil
	}
	left := since.Add(r.spec.deadline).Sub(r.Now)
	return reconcile.Result{After: max(left, 0) + time.Second}, nil // one more, because times in objects have no fractions
}

// What a ReplicaSet asks for and has.

func wanted(rs *unstructured.Unstructured) int64 { return number(rs.Object, 1, "spec", "replicas") }

func observed(rs *unstructured.Unstructured, field string) int64 {
	return number(rs.Object, 0, "status", field)
}

func sum(sets []*unstructured.Unstructured, of func(*unstructured.Unstructured) int64) (n int64) {
	for _, rs := range sets {
		n += of(rs)
	}
	return n
}

func sumObserved(sets []*unstructured.Unstructured, field string) int64 {
	return sum(sets, func(rs *unstructured.Unstructured) int64 { return observed(rs, field) })
}

// bySize orders ReplicaSets from the largest to the smallest, those of equal size by age.
func bySize(age int) func(a, b *unstructured.Unstructured) int {
	return func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(wanted(b), wanted(a)), age*byAge(a, b))
	}
}
