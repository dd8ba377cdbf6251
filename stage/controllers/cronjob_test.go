package controllers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/presets"
)

const nightly = `
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "*/10 * * * *"
  jobTemplate:
    metadata: {labels: {app: nightly}}
    spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
`

func TestACronJobRunsJobsByItsSchedule(t *testing.T) {
	l := newLab(t, setting{nodes: 1})
	l.load(nightly)
	l.advance(65 * time.Minute)
	require.Equal(t, []string{"nightly-29453800", "nightly-29453810", "nightly-29453820"}, names(l.list("Job", "app=nightly")), "the last three")
	require.Equal(t, "2026-01-01T01:00:00Z", l.list("Job", "")[2].GetAnnotations()["batch.kubernetes.io/cronjob-scheduled-timestamp"])
	l.requireStatus("CronJob", "nightly", `{lastScheduleTime: "2026-01-01T01:00:00Z", lastSuccessfulTime: "2026-01-01T01:00:00Z"}`)
	l.requireCurrent("CronJob", "nightly")

	l.patch("CronJob", "nightly", `{spec: {suspend: true}}`)
	l.advance(time.Hour)
	require.Equal(t, "2026-01-01T01:00:00Z", l.field("CronJob", "nightly", "status", "lastScheduleTime"))
	require.Empty(t, l.fails)
}

func TestACronJobHeedsItsConcurrencyPolicy(t *testing.T) {
	for policy, want := range map[string]int{"Allow": 3, "Forbid": 1, "Replace": 1} {
		t.Run(policy, func(t *testing.T) {
			l := newLab(t, setting{nodes: 0, pods: presets.PodGeneral}) // without a node no Pod ever ends
			l.load(nightly)
			l.patch("CronJob", "nightly", `{spec: {concurrencyPolicy: `+policy+`}}`)
			l.advance(31 * time.Minute)
			require.Len(t, l.list("Job", ""), want)
			require.Len(t, l.field("CronJob", "nightly", "status", "active"), want)
			last := map[string]string{"Allow": "2026-01-01T00:30:00Z", "Forbid": "2026-01-01T00:10:00Z", "Replace": "2026-01-01T00:30:00Z"}[policy]
			require.Equal(t, last, l.field("CronJob", "nightly", "status", "lastScheduleTime"))
			require.Empty(t, l.fails)
		})
	}
}
