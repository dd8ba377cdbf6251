package batch_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/clustertest"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

func TestACronJobRunsJobsByItsSchedule(t *testing.T) {
	l := clustertest.New(t, clustertest.Options{Nodes: 1})
	l.Load(clustertest.Manifest("cronjob"))
	l.Advance(65 * time.Minute)
	require.Equal(t, []string{"nightly-29453800", "nightly-29453810", "nightly-29453820"}, l.Names("Job", "app=nightly"), "the last three")
	require.Equal(t, "2026-01-01T01:00:00Z", l.List("Job", "")[2].GetAnnotations()["batch.kubernetes.io/cronjob-scheduled-timestamp"])
	l.RequireStatus("CronJob", "nightly", `{lastScheduleTime: "2026-01-01T01:00:00Z", lastSuccessfulTime: "2026-01-01T01:00:00Z"}`)
	l.RequireCurrent("CronJob", "nightly")

	l.Patch("CronJob", "nightly", `{spec: {suspend: true}}`)
	l.Advance(time.Hour)
	require.Equal(t, "2026-01-01T01:00:00Z", l.Field("CronJob", "nightly", "status", "lastScheduleTime"))
	require.Empty(t, l.Errors)
}

func TestACronJobHeedsItsConcurrencyPolicy(t *testing.T) {
	for policy, want := range map[string]int{"Allow": 3, "Forbid": 1, "Replace": 1} {
		t.Run(policy, func(t *testing.T) {
			l := clustertest.New(t, clustertest.Options{Nodes: 0, Pods: presets.PodGeneral}) // without a node no Pod ever ends
			l.Load(clustertest.Manifest("cronjob"))
			l.Patch("CronJob", "nightly", `{spec: {concurrencyPolicy: `+policy+`}}`)
			l.Advance(31 * time.Minute)
			require.Len(t, l.List("Job", ""), want)
			require.Len(t, l.Field("CronJob", "nightly", "status", "active"), want)
			last := map[string]string{"Allow": "2026-01-01T00:30:00Z", "Forbid": "2026-01-01T00:10:00Z", "Replace": "2026-01-01T00:30:00Z"}[policy]
			require.Equal(t, last, l.Field("CronJob", "nightly", "status", "lastScheduleTime"))
			require.Empty(t, l.Errors)
		})
	}
}
