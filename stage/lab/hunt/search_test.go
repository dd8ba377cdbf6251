package hunt_test

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

var lines = flag.Int("lines", 40, "lines of stories")

var twinRuns = flag.Int("twin-runs", effort.Of(100), "runs of each correct twin")

func TestMutantsAreFound(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			report, err := hunt.Search(mutantOptions(2000), m.start(true))
			require.NoError(t, err)
			require.NotEmpty(t, report.Failures, "%d runs", report.Runs)
			f := report.Failures[0]
			t.Logf("| %s | %s (%s) | run %d | %d faults | %v", m.name, f.Check, f.Kind, f.Run, len(f.Outcome.Plan.Faults), f.Outcome.Plan.Faults)
		})
	}
}

func TestCorrectTwinsAreClean(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			report, err := hunt.Search(mutantOptions(*twinRuns), m.start(false))
			require.NoError(t, err)
			for _, f := range report.Failures {
				t.Errorf("run %d: %s\n%s", f.Run, f.Finding, f.Outcome.Plan)
				for _, line := range f.Outcome.Story[:min(len(f.Outcome.Story), *lines)] {
					t.Log(line)
				}
			}
		})
	}
}

// TestASearchMakesRunsHoweverLittleTimeThereIs: without one it would find nothing, and pass.
func TestASearchMakesRunsHoweverLittleTimeThereIs(t *testing.T) {
	o := mutantOptions(1000)
	o.Time = time.Nanosecond
	report, err := hunt.Search(o, statusAsMemory(false))
	require.NoError(t, err)
	require.NotZero(t, report.Runs)
	require.False(t, report.Ended)
}

// TestWhatIsNotModelledIsReported has an object ask for what no lab does.
func TestWhatIsNotModelledIsReported(t *testing.T) {
	o := hunt.Options{Runs: 1, Lab: labtest.Options{OnlyControllers: true}}
	report, err := hunt.Search(o, func(r *hunt.Run) {
		r.Process("operator", func(*hunt.Process) []reconcile.Controller {
			return []reconcile.Controller{{Name: "app", For: deployments, Reconcile: func(context.Context, reconcile.Request) (reconcile.Result, error) {
				return reconcile.Result{}, nil
			}}}
		})
		r.Apply(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {selector: {matchLabels: {a: b}},
			template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`)
	})
	require.NoError(t, err)
	require.NotEmpty(t, report.NotModelled)
	require.Contains(t, report.String(), "the lab does not model: ")
}
