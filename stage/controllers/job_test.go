package controllers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/presets"
)

const sums = `
apiVersion: batch/v1
kind: Job
metadata: {name: sums}
spec:
  completions: 5
  parallelism: 2
  template:
    spec: {restartPolicy: Never, containers: [{name: c, image: i}]}
`

func TestAJobCompletes(t *testing.T) {
	l := newLab(t, setting{nodes: 2, pods: presets.PodFast})
	l.load(sums)
	l.settle()
	l.requireStatus("Job", "sums", `
completionTime: "2026-01-01T00:00:00Z"
conditions:
- {lastProbeTime: "2026-01-01T00:00:00Z", lastTransitionTime: "2026-01-01T00:00:00Z", message: Reached expected number of succeeded pods, reason: CompletionsReached, status: "True", type: SuccessCriteriaMet}
- {lastProbeTime: "2026-01-01T00:00:00Z", lastTransitionTime: "2026-01-01T00:00:00Z", message: Reached expected number of succeeded pods, reason: CompletionsReached, status: "True", type: Complete}
ready: 0
startTime: "2026-01-01T00:00:00Z"
succeeded: 5
terminating: 0
uncountedTerminatedPods: {}
`)
	l.requireCurrent("Job", "sums")
	require.Len(t, l.list("Pod", "job-name=sums"), 5)
	for _, p := range l.list("Pod", "") {
		require.Empty(t, p.GetFinalizers())
	}
	require.Empty(t, l.fails)
}

func TestAJobRunsAsManyPodsAsItMay(t *testing.T) {
	l := newLab(t, setting{nodes: 2, pods: presets.PodGeneral})
	l.load(sums)
	for range 100 {
		l.advance(time.Second)
		active, _ := l.field("Job", "sums", "status", "active").(int64)
		require.LessOrEqual(t, active, int64(2))
	}
	l.requireCurrent("Job", "sums")
	require.Equal(t, int64(5), l.field("Job", "sums", "status", "succeeded"))
}
