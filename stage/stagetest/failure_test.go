package stagetest_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
	"github.com/stagecraft-go/stagecraft/stage/stagetest"
)

func TestAFailureIsForAShareOfTheObjects(t *testing.T) {
	for _, rate := range []float64{30, -0.1, math.NaN()} {
		wrong := stagetest.LabOptions{Failures: []stagetest.Failure{{State: kstatustest.Failed, Rate: rate}}}
		require.Contains(t, failure(t, wrong, func(*stagetest.Lab) {}), "Failures[0].Rate: ")
	}
}

// TestFailuresWithoutEndAreTold: a ReplicaSet puts a new Pod in place of each that failed for good,
// for ever.
func TestFailuresWithoutEndAreTold(t *testing.T) {
	for _, state := range []kstatustest.State{kstatustest.Failed, kstatustest.Evicted} {
		all := stagetest.LabOptions{Failures: []stagetest.Failure{{State: state, Rate: 1}}}
		said := failure(t, all, func(lab *stagetest.Lab) {
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

// TestAPodThatComesBackMayBeLucky: Pods of StatefulSets have the names of those that failed, but
// not their fate.
func TestAPodThatComesBackMayBeLucky(t *testing.T) {
	for seed := range uint64(5) {
		lab := stagetest.New(t, stagetest.LabOptions{Seed: seed, Failures: []stagetest.Failure{{State: kstatustest.Failed, Rate: 0.5}}})
		lab.Apply(database)
		lab.WaitCurrent()
	}
}

// TestFaultsAreToldOnce: a controller's error is in what it was about already.
func TestFaultsAreToldOnce(t *testing.T) {
	said := failure(t, stagetest.LabOptions{}, func(lab *stagetest.Lab) {
		lab.Apply(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {app: a}},
  template: {metadata: {labels: {app: b}}, spec: {containers: [{name: c, image: i}]}}}}`)
		lab.WaitCurrent()
	})
	require.Contains(t, said, "does not match template `labels`")
	require.NotRegexp(t, "(?s)does not match template.*does not match template", said)
}
