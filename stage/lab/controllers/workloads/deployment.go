package workloads

import (
	"cmp"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/selectors"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// Deployments returns the controller that rolls out Deployments: it creates ReplicaSets and scales
// them. Run [ReplicaSets] with it.
func Deployments() reconcile.Controller {
	return reconcile.Controller{
		Name: "deployment", Component: "deployment-controller", For: kinds.Deployment,
		When:      control.IgnoreOwnStatus("deployment"),
		Watches:   control.WatchOwned(kinds.ReplicaSet, kinds.Deployment),
		Reconcile: control.OnExisting(kinds.Deployment, reconcileDeployment),
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

// A deploymentSpec is the spec of a Deployment, with the defaults of the API server.
type deploymentSpec struct {
	replicas, surge, unavailable int64 // surge and unavailable are 0 with the strategy Recreate
	minReady, history            int64
	recreate, paused             bool
	deadline                     time.Duration // 0: none
}

func readDeployment(d *unstructured.Unstructured) deploymentSpec {
	spec := fields.Map(d.Object, "spec")
	s := deploymentSpec{
		replicas: fields.Int64(spec, 1, "replicas"),
		minReady: fields.Int64(spec, 0, "minReadySeconds"),
		history:  fields.Int64(spec, 10, "revisionHistoryLimit"),
		recreate: fields.String(spec, "strategy", "type") == "Recreate",
		paused:   fields.Bool(spec, "paused"),
	}
	if n := fields.Int64(spec, 600, "progressDeadlineSeconds"); n != math.MaxInt32 {
		s.deadline = fields.Seconds(n)
	}
	if !s.recreate {
		s.surge, s.unavailable = surgeAndUnavailable(fields.Map(spec, "strategy", "rollingUpdate"), s.replicas)
	}
	return s
}

// surgeAndUnavailable returns how many surplus Pods are allowed, and how many Pods may be
// unavailable, while Pods are replaced. One of them is above 0, because otherwise nothing could be
// replaced.
func surgeAndUnavailable(rolling map[string]any, replicas int64) (surge, unavailable int64) {
	surge, _ = fields.IntOrPercent(orDefault(fields.Value(rolling, "maxSurge")), replicas, true)
	unavailable, _ = fields.IntOrPercent(orDefault(fields.Value(rolling, "maxUnavailable")), replicas, false)
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

// A rollout is one reconcile of a Deployment.
type rollout struct {
	control.Call
	deployment *unstructured.Unstructured
	spec       deploymentSpec
	newRS      *unstructured.Unstructured   // the ReplicaSet with the template of the Deployment, or nil
	oldRSs     []*unstructured.Unstructured // the others, the oldest first
	resumed    bool                         // the condition says so only since this call
	conditions conditions.List              // as they stand before the status is computed
	collisions any                          // status.collisionCount
}

func reconcileDeployment(c control.Call, d *unstructured.Unstructured) (reconcile.Result, error) {
	if err := selectors.Validate(d, selectors.Of(d)); err != nil {
		return reconcile.Result{}, err
	}
	sets, err := c.Claim(kinds.ReplicaSet, d, selectors.Of(d))
	if err != nil {
		return reconcile.Result{}, err
	}
	r := &rollout{
		Call: c, deployment: d, spec: readDeployment(d), conditions: conditions.Of(d),
		collisions: fields.Value(d.Object, "status", "collisionCount"),
	}
	r.findReplicaSets(sets)
	if fields.IsTerminating(d) {
		return reconcile.Result{}, r.updateStatus(r.status())
	}
	r.setPauseCondition()
	if err := r.updateNewRS(); err != nil {
		return reconcile.Result{}, err
	}
	if r.spec.paused || r.isScalingEvent() {
		return reconcile.Result{}, r.scaleOnly()
	}
	if err := r.rollOut(); err != nil {
		return reconcile.Result{}, err
	}
	return r.syncRolloutStatus()
}

// findReplicaSets separates the ReplicaSet of the present template from the old ones.
func (r *rollout) findReplicaSets(sets []*unstructured.Unstructured) {
	slices.SortStableFunc(sets, fields.ByAge)
	template := fields.Map(r.deployment.Object, "spec", "template")
	for _, rs := range sets {
		if r.newRS == nil && sameTemplate(template, fields.Map(rs.Object, "spec", "template")) {
			r.newRS = rs
		} else {
			r.oldRSs = append(r.oldRSs, rs)
		}
	}
}

// all returns the ReplicaSets, the old ones first.
func (r *rollout) all() []*unstructured.Unstructured {
	if r.newRS == nil {
		return r.oldRSs
	}
	return append(slices.Clip(r.oldRSs), r.newRS)
}

// replaceRS takes in the new version of a ReplicaSet.
func (r *rollout) replaceRS(rs *unstructured.Unstructured) {
	if r.newRS != nil && r.newRS.GetUID() == rs.GetUID() {
		r.newRS = rs
	}
	for i, old := range r.oldRSs {
		if old.GetUID() == rs.GetUID() {
			r.oldRSs[i] = rs
		}
	}
}

// scaleOnly scales the ReplicaSets without a rollout: the Deployment is paused, or its number of
// replicas has changed.
func (r *rollout) scaleOnly() error {
	if err := r.scale(); err != nil {
		return err
	}
	if r.spec.paused {
		if err := r.cleanupOld(); err != nil {
			return err
		}
	}
	return r.updateStatus(r.status())
}

// rollOut goes one step from the old ReplicaSets to the new one.
func (r *rollout) rollOut() error {
	if r.spec.recreate {
		return r.rolloutRecreate()
	}
	return r.rolloutRolling()
}

// syncRolloutStatus writes the status. It schedules another look for the time when the progress
// deadline is over.
func (r *rollout) syncRolloutStatus() (reconcile.Result, error) {
	status := r.withProgress(r.status())
	if err := r.updateStatus(status); err != nil {
		return reconcile.Result{}, err
	}
	progressing := conditions.List(fields.Slice(status, "conditions")).Find("Progressing")
	since, ok := fields.Time(progressing, "lastUpdateTime")
	reason := progressing.Field("reason")
	if !ok || r.spec.deadline == 0 || r.isComplete(status) || reason == "ProgressDeadlineExceeded" {
		return reconcile.Result{}, nil
	}
	left := since.Add(r.spec.deadline).Sub(r.Now)
	if left < time.Second {
		return reconcile.Result{After: soon}, nil
	}
	return reconcile.Result{After: left + time.Second}, nil // a second more, because times in objects have no fractions
}

// soon is the first pause of a queue of Kubernetes: so often a Deployment is looked at during the
// last second of its progress deadline.
const soon = 5 * time.Millisecond

// specReplicas returns how many Pods a ReplicaSet asks for.
func specReplicas(rs *unstructured.Unstructured) int64 {
	return fields.Int64(rs.Object, 1, "spec", "replicas")
}

// statusCount returns a number of the status.
func statusCount(rs *unstructured.Unstructured, field string) int64 {
	return fields.Int64(rs.Object, 0, "status", field)
}

func sum(sets []*unstructured.Unstructured, of func(*unstructured.Unstructured) int64) (n int64) {
	for _, rs := range sets {
		n += of(rs)
	}
	return n
}

func sumStatus(sets []*unstructured.Unstructured, field string) int64 {
	return sum(sets, func(rs *unstructured.Unstructured) int64 { return statusCount(rs, field) })
}

// bySize orders ReplicaSets from the largest to the smallest, and ReplicaSets of equal size by age.
func bySize(age int) func(a, b *unstructured.Unstructured) int {
	return func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(specReplicas(b), specReplicas(a)), age*fields.ByAge(a, b))
	}
}
