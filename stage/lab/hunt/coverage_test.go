package hunt_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
)

// TestAReportSaysWhatWasNotTried: in one run one fault strikes at one site. In many, all
// sites of the run without faults are tried, and all faults except the ones that cannot strike in the scenario.
func TestAReportSaysWhatWasNotTried(t *testing.T) {
	search := func(runs int) *hunt.Report {
		report, err := hunt.Search(mutantOptions(runs), staleDeletion(false))
		require.NoError(t, err)
		require.Empty(t, report.Failures)
		return report
	}
	one := search(1)
	require.Len(t, one.Untouched, one.Sites-1)
	struck := slices.DeleteFunc(slices.Clone(one.Faults), func(f hunt.Struck) bool { return f.Count == 0 })
	require.Equal(t, []hunt.Struck{{Do: hunt.CrashAfter, Count: 1}}, struck)
	require.Contains(t, one.String(), "a fault struck at 1\n    no fault struck at: "+one.Untouched[0].String())
	require.Contains(t, one.String(), "never lag: the runs were too few")

	many := search(400)
	t.Log(many)
	require.Greater(t, many.Sites, one.Sites, "faults bring a run to new sites")
	base, err := hunt.Play(mutantOptions(1), staleDeletion(false), hunt.Plan{})
	require.NoError(t, err)
	for _, s := range base.Sites {
		require.NotContains(t, many.Untouched, s)
	}
	missed := 0
	for _, f := range many.Faults {
		missed += f.Missed
		impossible := slices.Contains([]string{hunt.Pause, hunt.Overlap, hunt.StopNode, hunt.RemoveNode, hunt.FailPod, hunt.Skew}, f.Do)
		require.Equal(t, impossible, f.Impossible != "", "%+v", f)
		require.Equal(t, impossible, f.Count == 0, "%+v", f)
	}
	require.Equal(t, many.Missed, missed)
	require.Contains(t, many.String(), "never overlap: no process has replicas: see Run.Replicas")
}

// TestEveryFaultIsInTheReport: one that is added to a plan cannot be forgotten there.
func TestEveryFaultIsInTheReport(t *testing.T) {
	report, err := hunt.Search(mutantOptions(1), staleDeletion(false))
	require.NoError(t, err)
	for _, f := range report.Faults {
		site := "a b default/c create D #1"
		if slices.Contains([]string{hunt.Lag, hunt.Relist, hunt.Slow, hunt.Kill, hunt.StopNode, hunt.RemoveNode, hunt.FailPod}, f.Do) {
			site = "a sees default/c ADDED D #1"
		}
		_, err := hunt.ParsePlan("p", "hunt v1\nseed 1\nfault "+f.Do+" "+site+"\n")
		require.NoError(t, err)
	}
	require.Len(t, report.Faults, 18)
}
