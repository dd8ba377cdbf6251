package staged_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

func TestSoak(t *testing.T) {
	w := newWorld(t, twoStages("    soak: 10m\n"))
	w.available["dev1"] = 1
	w.now = start.Add(300 * time.Millisecond)
	w.settle()
	require.Equal(t, v1alpha1.Soaking, w.phase("dev"))
	require.Equal(t, 30*time.Second, w.last.RecheckAfter, "time in which nobody looks does not count")
	w.pass(9 * time.Minute)
	w.available["dev1"] = 0
	w.settle()
	w.available["dev1"] = 1
	w.settle()
	w.pass(9 * time.Minute)
	w.settle()
	require.Equal(t, "dev", w.status.ActiveStage, "a break begins it anew")
	w.policy = compile(t, twoStages("    soak: 10m\n"))
	w.pass(61 * time.Second)
	w.settle()
	require.Equal(t, "prod", w.status.ActiveStage, "a restart does not")
}

func TestApproval(t *testing.T) {
	w := newWorld(t, twoStages("    approval: {before: true, after: true}\n"))
	w.available["dev1"] = 1
	w.settle()
	require.Empty(t, w.exist())
	require.Contains(t, w.last.Message, "approval.community.kubestellar.io/before.dev")
	w.approve("before.dev")
	w.settle()
	require.Contains(t, w.last.Message, "approval.community.kubestellar.io/after.dev")
	w.meta.Annotations = nil
	w.settle()
	require.Equal(t, "alice", w.status.Stages[0].ApprovedBefore, "it cannot be taken back")
	require.Equal(t, "dev", w.status.ActiveStage)
	w.approve("after.dev")
	w.settle()
	require.Equal(t, "prod", w.status.ActiveStage)
}

func TestWindow(t *testing.T) {
	w := newWorld(t, twoStages("")+fields(
		"windows:",
		"- {cron: '30 14 * * *', duration: 1h}",
		"- {cron: '0 15 1 * *', duration: 10m, deny: true}",
	))
	w.available["dev1"] = 1
	w.settle()
	require.Equal(t, "dev", w.status.ActiveStage)
	require.Equal(t, 2*time.Hour+30*time.Minute, w.last.RecheckAfter)
	w.now = start.Add(3*time.Hour + 5*time.Minute)
	w.settle()
	require.Equal(t, "dev", w.status.ActiveStage, "deny wins")
	require.Equal(t, 5*time.Minute, w.last.RecheckAfter)
	w.pass(5 * time.Minute)
	w.settle()
	require.Equal(t, "prod", w.status.ActiveStage)
}

func TestWindowOpensAtItsFirstInstant(t *testing.T) {
	for _, tc := range []struct {
		name, cron, zone string
		before, first    string // the last closed and the first open instant
	}{
		{"in UTC", "0 9 * * mon-fri", "", "2026-03-02T08:59:59Z", "2026-03-02T09:00:00Z"},
		{"in winter", "0 9 * * *", "Europe/Berlin", "2026-01-15T07:59:59Z", "2026-01-15T08:00:00Z"},
		{"in summer", "0 9 * * *", "Europe/Berlin", "2026-07-15T06:59:59Z", "2026-07-15T07:00:00Z"},
		{"when clocks skip its time", "30 2 * * *", "Europe/Berlin", "2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z"},
		{"when clocks show its time twice", "30 2 * * *", "Europe/Berlin", "2026-10-25T00:29:59Z", "2026-10-25T00:30:00Z"},
		{"in a zone of half hours", "0 6 * * *", "Asia/Kolkata", "2026-05-05T00:29:59Z", "2026-05-05T00:30:00Z"},
		{"on a day of the month or of the week", "0 0 13 * fri", "", "2026-01-12T23:59:59Z", "2026-01-13T00:00:00Z"},
		{"on the last of February", "0 0 29 feb *", "", "2028-02-28T23:59:59Z", "2028-02-29T00:00:00Z"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			window := "{cron: '" + tc.cron + "', duration: 10m, timeZone: '" + tc.zone + "'}"
			w := newWorld(t, policyHead+"  stages: [{name: dev, windows: ["+window+"]}]\n")
			var err error
			w.now, err = time.Parse(time.RFC3339, tc.before)
			require.NoError(t, err)
			d := bindingpolicy.Decide(w.policy, w.status, w.observe(), w.now)
			require.Empty(t, d.Ensure)
			require.Equal(t, time.Second, d.RecheckAfter)
			w.sleep(time.Second)
			require.Equal(t, tc.first, w.now.Format(time.RFC3339))
			require.NotEmpty(t, bindingpolicy.Decide(w.policy, w.status, w.observe(), w.now).Ensure)
			w.sleep(10*time.Minute - 1)
			require.NotEmpty(t, bindingpolicy.Decide(w.policy, w.status, w.observe(), w.now).Ensure)
			w.sleep(1)
			require.Empty(t, bindingpolicy.Decide(w.policy, w.status, w.observe(), w.now).Ensure)
		})
	}
}

func TestExplainSaysWhenTheNextWindowOpens(t *testing.T) {
	for _, tc := range []struct {
		want    string
		windows []string
	}{
		{"the next opens at 2026-01-01T14:30:00Z", []string{"{cron: '30 14 * * *', duration: 1h}"}},
		{"the next opens at 2026-01-02T07:00:00Z", []string{
			"{cron: '0 8 * * *', duration: 8h, timeZone: Europe/Berlin}",
			"{cron: '0 12 1 1 *', duration: 3h, deny: true}",
		}},
		{"none will ever open", []string{"{cron: '0 0 30 2 *', duration: 1h}"}},
		{"none will ever open", []string{"{cron: '0 0 * * *', duration: 24h, deny: true}"}},
		{"none opens before 2026-01-1", []string{"{cron: '* * * 1-11 *', duration: 2m, deny: true, timeZone: Europe/Berlin}"}},
		{"the next opens at 2026-06-16T16:00:00Z", []string{
			"{cron: '0 0 1 1 *', duration: 4000h, deny: true}",
			"{cron: '0 0 1 * *', duration: 700h}",
			"{cron: '0 0 30 2 *', duration: 1h}",
		}},
	} {
		w := newWorld(t, policyHead+"  stages: [{name: dev, windows: ["+strings.Join(tc.windows, ", ")+"]}]\n")
		lines := bindingpolicy.Explain(w.policy, w.status, w.observe(), w.now)
		require.Len(t, lines, 1)
		require.Contains(t, lines[0].Text, tc.want, tc.windows)
		require.Contains(t, w.settle().Message, tc.want)
	}
}

func TestProgressDeadline(t *testing.T) {
	for _, tc := range []struct {
		onFailure, active string
		phase             v1alpha1.Phase
		stalled           bool
	}{
		{"Pause", "prod", v1alpha1.Failed, true},
		{"Continue", "end", v1alpha1.Failed, false},
		{"Rollback", "dev", v1alpha1.RolledBack, true},
	} {
		t.Run(tc.onFailure, func(t *testing.T) {
			text := twoStages("") + fields("condition: num('sum') == 2", "progressDeadlineSeconds: 60", "withdrawFirst: true", "onFailure: "+tc.onFailure) + endStage
			w := newWorld(t, text)
			w.available["dev1"] = 1
			w.settle()
			require.Equal(t, time.Minute, w.last.RecheckAfter)
			w.pass(59 * time.Second)
			w.settle()
			require.Equal(t, "prod", w.status.ActiveStage)
			w.pass(time.Second)
			w.settle()
			require.Equal(t, tc.active, w.status.ActiveStage)
			require.Equal(t, tc.phase, w.phase("prod"))
			require.Equal(t, tc.stalled, w.holds("Stalled"))
			require.Equal(t, []string{"s.stage." + tc.active}, w.exist())
		})
	}
}

// A status keeps whole seconds: what is counted from there may end late, and never early.
func TestNoDeadlineIsEarly(t *testing.T) {
	for _, after := range []time.Duration{0, 1, 300 * time.Millisecond, time.Second - 1} {
		w := newWorld(t, twoStages("    progressDeadlineSeconds: 60\n"))
		w.now = start.Add(after)
		w.settle()
		w.pass(time.Minute - 1)
		w.settle()
		require.False(t, w.holds("Stalled"), "%s after a whole second", after)
		require.LessOrEqual(t, w.last.RecheckAfter, time.Second)
		w.pass(w.last.RecheckAfter)
		w.settle()
		require.True(t, w.holds("Stalled"), "%s after a whole second", after)
	}
}

func TestSinceIsNeverTooLong(t *testing.T) {
	w := newWorld(t, twoStages("    condition: since >= duration('60s') || since < duration('0s')\n"))
	w.now = start.Add(300 * time.Millisecond)
	w.available["dev1"] = 1
	w.settle()
	w.pass(time.Minute - 1)
	w.settle()
	require.Equal(t, "dev", w.status.ActiveStage)
	w.pass(time.Second)
	w.settle()
	require.Equal(t, "prod", w.status.ActiveStage)
}

// A condition that reads the time is looked at during a soak too: a break in it must not go unseen.
func TestSoakOfAConditionThatReadsTheTime(t *testing.T) {
	w := newWorld(t, twoStages("    soak: 1h\n    condition: since < duration('5m') || since > duration('6m')\n"))
	w.available["dev1"] = 1
	w.settle()
	for range 3 * 360 {
		require.LessOrEqual(t, w.last.RecheckAfter, 10*time.Second)
		w.pass(w.last.RecheckAfter)
		w.decide()
		if w.status.ActiveStage == "prod" {
			break
		}
	}
	require.Equal(t, "prod", w.status.ActiveStage)
	require.Equal(t, start.Add(66*time.Minute+10*time.Second), w.now)
}

func TestAFailedStageIsTriedAgainOnceSomebodyAsksForIt(t *testing.T) {
	w := newWorld(t, twoStages("    progressDeadlineSeconds: 60\n"))
	w.settle()
	w.pass(time.Hour)
	w.settle()
	require.True(t, w.holds("Stalled"))
	w.available["dev1"] = 1
	w.settle()
	require.Equal(t, "dev", w.status.ActiveStage, "a failure stays")
	w.retry("dev")
	w.settle()
	require.Equal(t, "prod", w.status.ActiveStage)
	require.EqualValues(t, 2, w.status.Stages[0].Attempt)
	w.retry("dev")
	w.settle()
	require.Equal(t, "prod", w.status.ActiveStage, "a retry of a passed stage does nothing")
}

func TestRolledBackStageIsTriedAgainAfterARetry(t *testing.T) {
	text := twoStages("") + fields("condition: num('sum') == 2", "failureCondition: num('sum') > 2", "onFailure: Rollback", "withdrawFirst: true")
	w := newWorld(t, text)
	w.available = map[string]int64{"dev1": 1, "prod1": 2, "prod2": 2}
	w.settle()
	require.Equal(t, "dev", w.status.ActiveStage)
	require.Equal(t, []string{"s.stage.dev"}, w.exist(), "the stage before is created again")
	require.Equal(t, v1alpha1.RolledBack, w.phase("prod"))
	w.available["prod1"], w.available["prod2"] = 1, 1
	w.settle()
	require.Equal(t, "dev", w.status.ActiveStage, "it does not swing")
	w.meta.Generation++
	w.settle()
	require.Equal(t, "dev", w.status.ActiveStage, "an edit does not begin it again")
	w.retry("prod")
	w.settle()
	require.Equal(t, "prod", w.status.ActiveStage)
	require.True(t, w.holds("Succeeded"))
}

func TestMaxSilent(t *testing.T) {
	for _, tc := range []struct {
		name, max string
		late      int
		passes    bool
	}{
		{"none by default", "0", 1, false},
		{"as many as allowed", "2", 2, true},
		{"one too many", "2", 3, false},
		{"a percentage is rounded down", "50%", 2, true},
		{"a percentage is rounded down, not up", "50%", 3, false},
		{"never all", "100%", 5, false},
		{"all but one", "9", 4, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, twoStages(fields("condition: reported > 0", "guards: {allowErrors: true}", "maxSilent: "+tc.max)))
			delete(w.clusters, "dev1")
			w.boundAt = start
			for i := range 5 {
				name := string(rune('a' + i))
				w.clusters[name] = map[string]string{"env": "dev"}
				w.available[name], w.returned[name] = 1, start
				if i < tc.late {
					w.returned[name] = start.Add(-time.Second)
				}
			}
			w.settle()
			require.Equal(t, tc.passes, w.status.ActiveStage == "prod", w.last.Message)
		})
	}
}

func TestMaxConcurrency(t *testing.T) {
	w := newWorld(t, twoStages("    maxConcurrency: 50%\n    condition: num('sum') == 4 || num('sum') == 2\n"))
	delete(w.clusters, "dev1")
	for _, name := range []string{"d", "c", "b", "a", "e"} {
		w.clusters[name] = map[string]string{"env": "dev", "name": name}
		w.available[name] = 1
	}
	w.available["c"], w.available["e"] = 0, 2
	w.settle()
	require.Equal(t, []string{"s.stage.dev.1", "s.stage.dev.2"}, w.exist(), "the second batch has not what it needs")
	require.Equal(t, []string{"c", "d"}, w.policies["s.stage.dev.2"].Spec.ClusterSelectors[0].MatchExpressions[0].Values)
	w.clusters["a2"] = map[string]string{"env": "dev", "name": "a2"}
	w.available["a2"] = 0
	w.settle()
	require.Equal(t, []string{"a", "b"}, w.policies["s.stage.dev.1"].Spec.ClusterSelectors[0].MatchExpressions[0].Values, "a new cluster waits")
	w.available["c"] = 1
	w.settle()
	require.Equal(t, []string{"s.stage.prod"}, w.exist())
	batches := []v1alpha1.Batch{{Clusters: []string{"a", "b"}}, {Clusters: []string{"c", "d"}}, {Clusters: []string{"e", "a2"}}}
	require.Equal(t, batches, w.status.Stages[0].Batches)
}

// The clusters of batches that have not begun are clusters of the stage.
func TestMinDestinationsCountsAllBatches(t *testing.T) {
	for want, active := range map[string]string{"3": "prod", "4": "dev"} {
		w := newWorld(t, twoStages(fields("maxConcurrency: 1", "condition: num('sum') >= 1", "guards: {minDestinations: "+want+"}")))
		for _, name := range []string{"dev1", "dev2", "dev3"} {
			w.clusters[name] = map[string]string{"env": "dev", "name": name}
			w.available[name] = 1
		}
		w.settle()
		require.Equal(t, active, w.status.ActiveStage, want)
	}
}

// A stage that was rolled back has no workload left: it begins with its first batch again.
func TestRolledBackBatchesBeginAgain(t *testing.T) {
	w := newWorld(t, twoStages("")+fields(
		"condition: num('sum') == 1", "failureCondition: num('sum') > 1", "onFailure: Rollback", "maxConcurrency: 1", "withdrawFirst: true",
	))
	w.available = map[string]int64{"dev1": 1, "prod1": 1, "prod2": 2}
	w.settle()
	require.Equal(t, v1alpha1.RolledBack, w.phase("prod"))
	delete(w.available, "prod1")
	delete(w.clusters, "prod2")
	w.clusters["prod3"] = map[string]string{"env": "prod", "name": "prod3"}
	w.retry("prod")
	w.settle()
	require.Equal(t, []string{"s.stage.prod.1"}, w.exist())
	require.Equal(t, []v1alpha1.Batch{{Clusters: []string{"prod1"}}, {Clusters: []string{"prod3"}}}, w.status.Stages[1].Batches)
}

func TestMaxConcurrencyNeedsClusters(t *testing.T) {
	w := newWorld(t, twoStages("    maxConcurrency: 1\n"))
	w.clusters["dev1"] = map[string]string{"env": "dev"}
	w.settle()
	require.Contains(t, w.last.Message, "no label name=dev1")
	w.clusters = nil
	w.status = v1alpha1.Status{}
	w.settle()
	require.True(t, w.holds("Stalled"))
	require.Contains(t, w.last.Message, "not known")
}

func TestPaused(t *testing.T) {
	w := newWorld(t, twoStages("    paused: true\n"))
	w.settle()
	require.Empty(t, w.exist())
	require.True(t, w.holds("Paused"))
	w.policy = compile(t, twoStages(""))
	w.settle()
	w.policy = compile(t, twoStages("    paused: true\n"))
	w.available["dev1"] = 1
	w.settle()
	require.Equal(t, "dev", w.status.ActiveStage)
	w.policy = compile(t, twoStages("")+"    paused: true\n")
	w.settle()
	require.Equal(t, "dev", w.status.ActiveStage)
}

func TestSkipIfEmpty(t *testing.T) {
	for _, known := range []bool{true, false} {
		empty := strings.Replace(twoStages(""), "env: prod", "env: none", 1) + fields("skipIfEmpty: true", "condition: 'true'")
		w := newWorld(t, empty+endStage)
		w.available["dev1"] = 1
		if known {
			w.settle()
		} else {
			w.t = t
			for range 8 {
				seen := w.observe()
				seen.Clusters = nil
				d := bindingpolicy.Decide(w.policy, w.status, seen, w.now)
				for _, do := range w.actions(d) {
					do()
				}
				require.NotEmpty(t, w.exist())
			}
		}
		require.Equal(t, []string{"s.stage.end"}, w.exist())
		require.Equal(t, v1alpha1.Skipped, w.phase("prod"))
	}
}

// Time without a decision counts for at most the gap: no soak ends by it, and no deadline.
func TestTimeInWhichNobodyLooksDoesNotCount(t *testing.T) {
	w := newWorld(t, twoStages("    soak: 10m\n"))
	w.available["dev1"] = 1
	w.settle()
	w.sleep(time.Hour)
	w.settle()
	require.Equal(t, "dev", w.status.ActiveStage)
	w.pass(10 * time.Minute)
	w.settle()
	require.Equal(t, "prod", w.status.ActiveStage)

	w = newWorld(t, twoStages("    progressDeadlineSeconds: 90\n"))
	w.settle()
	w.sleep(time.Hour)
	w.settle()
	require.Equal(t, v1alpha1.Progressing, w.phase("dev"))
	w.pass(2 * time.Minute)
	w.settle()
	require.Equal(t, v1alpha1.Failed, w.phase("dev"))
}
