package kstatus

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// seeds is how many objects the tests try; the fuzz targets try on.
const seeds = 20_000

func FuzzSameVerdict(f *testing.F) {
	for seed := range uint64(10) {
		f.Add(seed)
	}
	f.Fuzz(sameVerdict)
}

func TestSameVerdict(t *testing.T) {
	for seed := range uint64(seeds) {
		sameVerdict(t, seed)
	}
}

// sameVerdict compares both sides on a well-formed object.
func sameVerdict(t *testing.T, seed uint64) {
	obj := newDice(seed).object()
	want := peer(obj)
	require.Empty(t, want.Failure, obj.Object)
	if want != ours(obj) {
		require.Equal(t, want, ours(obj), obj.Object)
	}
}

func FuzzAnyShape(f *testing.F) {
	for seed := range uint64(10) {
		f.Add(seed)
	}
	f.Fuzz(anyShape)
}

func TestAnyShape(t *testing.T) {
	for seed := range uint64(seeds) {
		anyShape(t, seed)
	}
}

// anyShape puts something else in a field. If the peer still has an answer, our answer is the same.
func anyShape(t *testing.T, seed uint64) {
	d := newDice(seed)
	obj := d.object()
	d.damage(obj.Object)
	got, want := ours(obj), peer(obj)
	if want.Failure == "" && want != got {
		require.Equal(t, want, got, obj.Object)
	}
}

// TestEachVerdictIsReached makes sure that the objects are worth comparing: that every status and
// every reason of the peer comes up.
func TestEachVerdictIsReached(t *testing.T) {
	reached := map[string]bool{}
	for seed := range uint64(seeds) {
		o := peer(newDice(seed).object())
		reached[o.Status], reached[o.Reason] = true, true
		for _, m := range messages {
			if strings.Contains(o.Message, m) {
				reached[m] = true
			}
		}
	}
	for _, want := range append(verdicts, messages...) {
		require.True(t, reached[want], want)
	}
}

var verdicts = []string{
	"Terminating", "InProgress", "Failed", "Current", "LatestGenerationNotObserved", "NoIPAssigned", "NotBound", "ContainerCrashLooping",
	"PodRunningNotReady", "PodNotScheduled", "PodUnschedulable", "PodPending", "PodNotObserved", "ProgressDeadlineExceeded", "LessReplicas",
	"LessUpdated", "ExtraPods", "LessAvailable", "LessReady", "ReplicaSetNotAvailable", "DeploymentNotAvailable", "ReplicaFailure", "LessLabelled",
	"PartitionRollout", "LessCurrent", "RevisionMismatch", "NoGeneration", "NoObservedGeneration", "NoDesiredNumber", "JobFailed", "JobNotStarted",
	"Installing",
}

// messages tell verdicts apart that have no reason.
var messages = []string{
	"always ready", "Service is ready", "PVC is Bound", "completed successfully", "but not successfully", "Pod is Ready", "app,proxy", "Deployment is available",
	"ReplicaSet is available", "ondelete", "Partition rollout complete", "All replicas scheduled", "AllowedDisruptions", "Job Completed", "Job in progress",
	"CRD is established", "Resource is Ready", "Resource is current",
}

func FuzzTolerance(f *testing.F) {
	for seed := range uint64(len(tolerances)) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		tolerances[seed%uint64(len(tolerances))].check(t, seed)
	})
}

// TestTolerance tries each row of the table until the peer has erred, panicked or misread often
// enough.
func TestTolerance(t *testing.T) {
	for _, row := range tolerances {
		t.Run(row.name, func(t *testing.T) {
			hits := 0
			for seed := uint64(0); seed < seeds && hits < 500; seed++ {
				if row.check(t, seed) {
					hits++
				}
			}
			require.GreaterOrEqual(t, hits, 50, "the peer does no differently")
		})
	}
}

// check damages an object and compares the result with the peer's result for the meaning of the
// object. It reports whether the damage misleads the peer.
func (row tolerance) check(t *testing.T, seed uint64) bool {
	d := newDice(seed)
	good := d.object()
	bad := good.DeepCopy()
	if !row.damage(d, bad) {
		return false
	}
	if row.meaning != nil {
		row.meaning(good)
	}
	want := peer(good)
	if row.want != nil && !settledBefore(bad) {
		want = *row.want
		want.Message = strings.ReplaceAll(want.Message, "%s", strings.ToLower(good.GetKind()))
	}
	got := ours(bad)
	if want != got {
		require.Equal(t, want, got, bad.Object)
	}
	return peer(bad) != want
}

// settledBefore reports whether deletion, generation or standard conditions decide, for any kind.
func settledBefore(obj *unstructured.Unstructured) bool {
	if _, ok := obj.Object["metadata"].(map[string]any); !ok {
		return false
	}
	bare := obj.DeepCopy()
	if conditions, _, _ := unstructured.NestedFieldNoCopy(bare.Object, "status", "conditions"); conditions == "x" {
		drop("status.conditions")(bare)
	}
	bare.SetAPIVersion("example.com/v1")
	o := peer(bare)
	return o.Status == "Terminating" || o.Reason == "LatestGenerationNotObserved" || standard(bare)
}

func standard(obj *unstructured.Unstructured) bool {
	for c := range conditionsOf(obj) {
		if (c["type"] == "Reconciling" || c["type"] == "Stalled") && c["status"] == "True" {
			return true
		}
	}
	return false
}
