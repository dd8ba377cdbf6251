package batch_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

func TestACronJobRunsJobsByItsSchedule(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 1})
	c.Load(clustertest.Manifest("cronjob"))
	c.Advance(65 * time.Minute)
	require.Equal(t, []string{"nightly-29453800", "nightly-29453810", "nightly-29453820"}, c.Names("Job", "app=nightly"), "the last three")
	require.Equal(t, "2026-01-01T01:00:00Z", c.List("Job", "")[2].GetAnnotations()["batch.kubernetes.io/cronjob-scheduled-timestamp"])
	c.RequireStatus("CronJob", "nightly", `{lastScheduleTime: "2026-01-01T01:00:00Z", lastSuccessfulTime: "2026-01-01T01:00:00Z"}`)
	c.RequireCurrent("CronJob", "nightly")

	c.Patch("CronJob", "nightly", `{spec: {suspend: true}}`)
	c.Advance(time.Hour)
	require.Equal(t, "2026-01-01T01:00:00Z", c.Field("CronJob", "nightly", "status", "lastScheduleTime"))
	require.Empty(t, c.Errors)
}

// TestTwoSchedulesInAMinute: both give the Job the same name, and kube-controller-manager 1.36 does not
// find the Job that there is.
func TestTwoSchedulesInAMinute(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 1})
	c.Load(clustertest.Manifest("cronjob"))
	c.Patch("CronJob", "nightly", `{spec: {schedule: "@every 25s"}}`)
	c.Advance(59 * time.Second)
	require.Len(t, c.List("Job", ""), 1)
	require.Equal(t, "2026-01-01T00:00:25Z", c.Field("CronJob", "nightly", "status", "lastScheduleTime"))
	require.Contains(t, fmt.Sprint(c.Errors), "not found")
	c.Advance(time.Minute)
	require.Len(t, c.List("Job", ""), 2)
}

func TestACronJobHeedsItsConcurrencyPolicy(t *testing.T) {
	for policy, want := range map[string]int{"Allow": 3, "Forbid": 1, "Replace": 1} {
		t.Run(policy, func(t *testing.T) {
			c := clustertest.New(t, clustertest.Options{Nodes: 0, Pods: presets.PodGeneral}) // without a node no Pod ever ends
			c.Load(clustertest.Manifest("cronjob"))
			c.Patch("CronJob", "nightly", `{spec: {concurrencyPolicy: `+policy+`}}`)
			c.Advance(31 * time.Minute)
			require.Len(t, c.List("Job", ""), want)
			require.Len(t, c.Field("CronJob", "nightly", "status", "active"), want)
			last := map[string]string{"Allow": "2026-01-01T00:30:00Z", "Forbid": "2026-01-01T00:10:00Z", "Replace": "2026-01-01T00:30:00Z"}[policy]
			require.Equal(t, last, c.Field("CronJob", "nightly", "status", "lastScheduleTime"))
			require.Empty(t, c.Errors)
		})
	}
}
