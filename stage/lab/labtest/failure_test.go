package labtest_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

func TestAFailureIsForAShareOfTheObjects(t *testing.T) {
	for _, rate := range []float64{30, -0.1, math.NaN()} {
		wrong := labtest.Options{Failures: []labtest.Failure{{State: kstatustest.Failed, Rate: rate}}}
		require.Contains(t, failure(t, wrong, func(*labtest.Lab) {}), "Failures[0].Rate: ")
	}
}

// TestFailuresWithoutEndAreTold: a ReplicaSet replaces each Pod that failed for good with a new
// Pod, without end.
func TestFailuresWithoutEndAreTold(t *testing.T) {
	for _, state := range []kstatustest.State{kstatustest.Failed, kstatustest.Evicted} {
		all := labtest.Options{Failures: []labtest.Failure{{State: state, Rate: 1}}}
		said := failure(t, all, func(lab *labtest.Lab) {
			lab.Apply(web)
			lab.WaitCurrent()
		})
		require.Contains(t, said, "livelock")
		require.Contains(t, said, "objects of ReplicaSet default/web-")
		require.Contains(t, said, "let fewer fail")
	}
}

const database = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {replicas: 20, serviceName: db, selector: {matchLabels: {app: db}},
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: i}]}}}}`

// TestAPodThatComesBackMayBeLucky: a new Pod of a StatefulSet has the name of the failed Pod and
// need not fail.
func TestAPodThatComesBackMayBeLucky(t *testing.T) {
	for seed := range uint64(5) {
		lab := labtest.New(t, labtest.Options{Seed: seed, Failures: []labtest.Failure{{State: kstatustest.Failed, Rate: 0.5}}})
		lab.Apply(database)
		lab.WaitCurrent()
	}
}

// TestFaultsAreToldOnce: the report of an object has its controller's error, which is not repeated.
func TestFaultsAreToldOnce(t *testing.T) {
	said := failure(t, labtest.Options{}, func(lab *labtest.Lab) {
		lab.Apply(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {app: a}},
  template: {metadata: {labels: {app: b}}, spec: {containers: [{name: c, image: i}]}}}}`)
		lab.WaitCurrent()
	})
	require.Contains(t, said, "does not match template `labels`")
	require.NotRegexp(t, "(?s)does not match template.*does not match template", said)
}

func TestDriveACustomResourcePending(t *testing.T) {
	train := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Train"}
	lab := labtest.New(t, labtest.Options{Kinds: []memory.Kind{{GroupVersionKind: train, Status: true}}, Controllers: labtest.StandIns(train)})
	lab.Apply("{apiVersion: example.com/v1, kind: Train, metadata: {name: t}}")
	lab.WaitCurrent()
	lab.Drive(object("example.com/v1", "Train", "t"), kstatustest.Pending)
	lab.Settle()
	require.Error(t, kstatustest.Check(lab.Get("example.com/v1", "Train", "t")))
	lab.Drive(object("example.com/v1", "Train", "t"), labtest.Ready)
	lab.WaitCurrent()
}

func TestAClaimBindsAfterFiveMinutes(t *testing.T) {
	claims := schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}
	slow := labtest.Failure{Kind: claims, State: kstatustest.Pending, Rate: 1, For: 5 * time.Minute}
	lab := labtest.New(t, labtest.Options{Failures: []labtest.Failure{slow}})
	lab.Apply("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}")
	began := lab.Now()
	lab.WaitCurrent()
	require.Equal(t, 5*time.Minute, lab.Now().Sub(began))
	lab.Settle()
	claim := lab.Get("v1", "PersistentVolumeClaim", "data")
	require.Equal(t, "Bound", field(claim, "status", "phase"))
	require.NotNil(t, field(claim, "spec", "volumeName"), "the controller has bound it")
}

func TestFailuresInTime(t *testing.T) {
	late := labtest.Failure{State: kstatustest.CrashLoopBackOff, Count: 2, After: time.Minute, For: 10 * time.Minute}
	lab := labtest.New(t, labtest.Options{Failures: []labtest.Failure{late}})
	lab.Apply(web)
	ready := func() any {
		n := field(lab.Get("apps/v1", "Deployment", "web"), "status", "readyReplicas")
		if n == nil {
			return int64(0)
		}
		return n
	}
	lab.Advance(59 * time.Second)
	all := ready().(int64)
	lab.Advance(time.Second)
	require.Equal(t, all-2, ready(), "two fail after a minute")
	lab.Advance(10*time.Minute - time.Second)
	require.Equal(t, all-2, ready())
	lab.Advance(time.Second)
	require.Equal(t, all, ready(), "and recover")
	for _, wrong := range []labtest.Failure{{Count: -1}, {After: -1}, {For: -1}, {For: 1, State: kstatustest.Evicted}} {
		require.Contains(t, failure(t, labtest.Options{Failures: []labtest.Failure{wrong}}, func(*labtest.Lab) {}), "Failures[0].")
	}
}
