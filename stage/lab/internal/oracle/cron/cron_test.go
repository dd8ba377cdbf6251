package cron

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/batch"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

var (
	scenarios = flag.Int("scenarios", 200, "how many random CronJobs are played")
	seed      = flag.Uint64("seed", 1, "the first group of them")
)

// together is how many CronJobs are played in one simulation.
const together = 50

func TestSchedules(t *testing.T) {
	starts := 0
	for i := range (*scenarios + together - 1) / together {
		s := random(t, *seed+uint64(i), together)
		ours := playOurs(t, s)
		for _, c := range s.cronJobs {
			want := theirs(s, c)
			require.Equal(t, want, ours[c.name], "group %d from %s: %+v", *seed+uint64(i), s.start, c)
			starts += len(want)
		}
	}
	t.Log(starts, "starts and errors compared")
}

// theirs are the times of the library in the span of a scenario, or what is said of a schedule that
// cannot be read.
func theirs(s scenario, c cronJob) (lines []string) {
	sched, err := cron.ParseStandard(c.text())
	if err != nil {
		return []string{fmt.Sprintf("unparseable schedule: %q : %s", c.schedule, err)}
	}
	if sched.Next(s.start).IsZero() { // as mostRecentScheduleTime in controller/cronjob/utils.go has it
		return []string{fmt.Sprintf("invalid schedule: %s : time difference between two schedules is less than 1 second", c.schedule)}
	}
	// The controller looks 100 ms after the time.
	for at := sched.Next(s.start); !at.IsZero() && !at.Add(100*time.Millisecond).After(s.start.Add(s.length)); at = sched.Next(at) {
		lines = append(lines, at.UTC().Format(time.RFC3339))
	}
	return lines
}

// playOurs returns the times for which our controller starts Jobs, and its warnings, by CronJob.
func playOurs(t *testing.T, s scenario) map[string][]string {
	set, err := stage.Compile(stage.Options{})
	require.NoError(t, err)
	sim, err := simulation.New(set, simulation.Options{
		Start: s.start, Reconcile: reconcile.Options{Events: true}, Controllers: []reconcile.Controller{batch.CronJobs()},
	})
	require.NoError(t, err)
	defer sim.Close()
	lines := map[string][]string{}
	require.NoError(t, sim.On(schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, func(_ context.Context, e watch.Event) error {
		if job := e.Object.(*unstructured.Unstructured); e.Type == watch.Added {
			at, err := time.Parse(time.RFC3339, job.GetAnnotations()["batch.kubernetes.io/cronjob-scheduled-timestamp"])
			require.NoError(t, err)
			owner := job.GetOwnerReferences()[0].Name
			lines[owner] = append(lines[owner], at.UTC().Format(time.RFC3339))
		}
		return nil
	}))
	addWarnings(t, sim, lines)
	for _, c := range s.cronJobs {
		_, err := sim.Cluster().Create(context.Background(), manifest(c), metav1.CreateOptions{})
		require.NoError(t, err)
	}
	require.NoError(t, sim.Advance(context.Background(), s.length))
	return lines
}

func manifest(c cronJob) *unstructured.Unstructured {
	spec := map[string]any{
		"schedule": c.schedule, "concurrencyPolicy": "Replace",
		"jobTemplate": map[string]any{"spec": map[string]any{"template": map[string]any{}}},
	}
	if c.zone != "" {
		spec["timeZone"] = c.zone
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "batch/v1", "kind": "CronJob", "metadata": map[string]any{"namespace": "default", "name": c.name}, "spec": spec,
	}}
}

// addWarnings notes the Warnings about CronJobs when they are created: Events go after an hour.
func addWarnings(t *testing.T, sim *simulation.Simulation, lines map[string][]string) {
	require.NoError(t, sim.On(schema.GroupVersionKind{Version: "v1", Kind: "Event"}, func(_ context.Context, change watch.Event) error {
		e := change.Object.(*unstructured.Unstructured)
		about, _, _ := unstructured.NestedString(e.Object, "involvedObject", "name")
		if change.Type == watch.Added && e.Object["type"] == "Warning" && e.Object["reason"] != "TooManyMissedTimes" {
			lines[about] = append(lines[about], fmt.Sprint(e.Object["message"]))
		}
		return nil
	}))
}
