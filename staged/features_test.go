package staged_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

func perCluster(limits string, lines ...string) string {
	return policyText(stageText("prod", "prod", append([]string{"perCluster: {" + limits + "}"}, lines...)...))
}

func TestPerClusterKeepsSoManyUnavailable(t *testing.T) {
	w := fleetOf(t, perCluster("maxUnavailable: 2"), prods...)
	for _, c := range names(prods) {
		w.available[c] = 0
	}
	w.settle()
	require.Equal(t, []string{"p0", "p1"}, w.served())
	require.Equal(t, `stage "prod": p0: deployments.apps shop/web in p0: num("sum") is 0, want size(destinations), that is 1 (2 of 5 clusters are without success, at most 2 may be)`, w.last.Message)
	w.available["p1"] = 1
	w.settle()
	require.Equal(t, []string{"p0", "p1", "p2"}, w.served(), "a place for one more")
	w.available["p1"] = 0
	w.settle()
	w.available["p2"] = 1
	w.settle()
	require.Equal(t, []string{"p0", "p1", "p2"}, w.served(), "one that is no success any more takes a place")
	for _, c := range names(prods) {
		w.available[c] = 1
	}
	w.settle()
	require.True(t, w.holds("Succeeded"))
	require.Equal(t, names(prods), w.served())
}

func TestPerClusterMaxUnavailableInPerCent(t *testing.T) {
	for percent, want := range map[string]int{"40%": 2, "50%": 2, "100%": 5, "10%": 1} {
		w := fleetOf(t, perCluster("maxUnavailable: "+percent), prods...)
		clear(w.available)
		w.settle()
		require.Len(t, w.served(), want, percent)
	}
}

func TestTimedOutClustersAreSetAside(t *testing.T) {
	w := fleetOf(t, perCluster("progressDeadlineSeconds: 60", "maxFailures: 1", "guards: {allowErrors: true}"), prods...)
	w.available["p0"] = 0
	w.settle()
	require.Equal(t, []string{"p0"}, w.served())
	require.Equal(t, time.Minute, w.last.RecheckAfter)
	w.pass(time.Minute)
	w.settle()
	require.True(t, w.holds("Succeeded"), w.last.Message)
	require.Equal(t, names(prods), w.served(), "it keeps the workload")
	require.Contains(t, w.status.Stages[0].Batches[0].SetAside, `the condition did not hold within 1m0s: deployments.apps shop/web in p0: num("sum") is 0`)
}

func TestTooManyTimedOutClustersFailTheStage(t *testing.T) {
	w := fleetOf(t, perCluster("maxUnavailable: 5, progressDeadlineSeconds: 60", "maxFailures: 40%"), prods...)
	for _, c := range []string{"p0", "p1", "p2"} {
		w.available[c] = 0
	}
	w.settle()
	w.pass(time.Minute)
	w.settle()
	require.True(t, w.holds("Stalled"))
	require.Contains(t, w.last.Message, "3 of 5 clusters are set aside, at most 2 may be: p0: the condition did not hold")
	w.available["p2"] = 1
	w.settle()
	require.True(t, w.holds("Stalled"), "one comes back, and the failure stays")
	require.Contains(t, w.last.Message, "retry.community.kubestellar.io/prod=r1-")
	w.retry("prod")
	w.settle()
	w.pass(time.Minute)
	w.settle()
	require.True(t, w.holds("Succeeded"), "the other two may miss it again")
}

func TestNotAllClustersMayBeSetAside(t *testing.T) {
	w := fleetOf(t, perCluster("maxUnavailable: 5, progressDeadlineSeconds: 60", "maxFailures: 100%"), prods...)
	clear(w.available)
	w.settle()
	w.pass(time.Minute)
	w.settle()
	require.True(t, w.holds("Stalled"))
}

func TestMinSuccessTimeIsThatOfACluster(t *testing.T) {
	w := fleetOf(t, perCluster("maxUnavailable: 2, minSuccessTime: 5m"), "prod/p0", "prod/p1", "prod/p2")
	w.settle()
	require.Equal(t, []string{"p0", "p1"}, w.served())
	w.pass(4 * time.Minute)
	w.available["p1"] = 0
	w.settle()
	w.available["p1"] = 1
	w.settle()
	w.pass(time.Minute)
	w.settle()
	require.Equal(t, []string{"p0", "p1", "p2"}, w.served(), "p0 is a success, the flap of p1 has begun anew")
	require.Contains(t, w.last.Message, "p1: the condition must hold until 12:09:00Z")
	w.pass(5 * time.Minute)
	w.settle()
	require.True(t, w.holds("Succeeded"), w.last.Message)
}

func TestAClusterThatFailsIsSetAside(t *testing.T) {
	w := fleetOf(t, perCluster("maxUnavailable: 5", "maxFailures: 1", "failureCondition: num('sum') > 1"), prods...)
	w.available["p3"] = 2
	w.settle()
	require.True(t, w.holds("Succeeded"))
	require.Contains(t, w.status.Stages[0].Batches[3].SetAside, "failureCondition is true for deployments.apps shop/web in p3: saw agg: sum = 2")
}

func TestBatchSoakAndStageDeadline(t *testing.T) {
	w := fleetOf(t, policyText(stageText("prod", "prod", "maxConcurrency: 1", "soak: 30m", "batchSoak: 1m"), stageText("end", "end")), append(prods, "end/e")...)
	for range 5 {
		w.settle()
		w.pass(time.Minute)
	}
	require.Equal(t, names(prods), w.served(), "a minute for each batch")
	require.Equal(t, "prod", w.status.ActiveStage)
	w.pass(29 * time.Minute)
	w.settle()
	require.Equal(t, "end", w.status.ActiveStage, "and half an hour once")

	w = fleetOf(t, policyText(stageText("prod", "prod", "maxConcurrency: 1", "batchSoak: 1m", "stageDeadlineSeconds: 150"), stageText("end", "end")), prods...)
	for range 3 {
		w.settle()
		w.pass(time.Minute)
	}
	w.settle()
	require.True(t, w.holds("Stalled"))
	require.Contains(t, w.last.Message, "the stage was not satisfied within 2m30s: 3 of 5 batches are started")
}

func TestApprovalTimeout(t *testing.T) {
	w := fleetOf(t, policyText(stageText("dev", "dev"), stageText("prod", "prod", "approval: {after: true, timeoutSeconds: 60}", "onFailure: Rollback", "withdrawFirst: true"), stageText("end", "end")), "dev/d", "prod/p", "end/e")
	w.settle()
	require.Equal(t, "prod", w.status.ActiveStage)
	require.Equal(t, time.Minute, w.last.RecheckAfter)
	w.pass(time.Minute)
	w.settle()
	require.Equal(t, v1alpha1.RolledBack, w.phase("prod"))
	require.Contains(t, w.last.Message, "nobody approved within 1m0s")

	w = fleetOf(t, policyText(stageText("dev", "dev"), stageText("prod", "prod", "approval: {before: true, timeoutSeconds: 60}")), "dev/d", "prod/p")
	w.settle()
	require.False(t, w.holds("Stalled"))
	w.pass(time.Minute)
	w.settle()
	require.True(t, w.holds("Stalled"))
	w.approve("before.prod")
	w.settle()
	require.Equal(t, "prod", w.status.ActiveStage, "late is not never")
}

func TestBatchesInWindows(t *testing.T) {
	for _, inWindows := range []bool{true, false} {
		w := fleetOf(t, policyText(stageText("prod", "prod", "maxConcurrency: 1", "batchSoak: 90m", "windows: [{cron: '0 12 * * *', duration: 1h}]", fmt.Sprint("batchesInWindows: ", inWindows))), "prod/p0", "prod/p1")
		w.settle()
		w.pass(90 * time.Minute)
		w.settle()
		if inWindows {
			require.Equal(t, []string{"p0"}, w.served())
			require.Contains(t, w.last.Message, "batch 2 of 2 waits for a window: the next opens at 2026-01-02T12:00:00Z")
			w.pass(w.last.RecheckAfter)
			w.settle()
		}
		require.Equal(t, []string{"p0", "p1"}, w.served())
	}
}

func TestRollbackAllGoesBackToTheFirstStage(t *testing.T) {
	text := policyText(stageText("dev", "dev"), stageText("mid", "mid", "withdrawFirst: true"), stageText("prod", "prod", "failureCondition: num('sum') > 1", "onFailure: RollbackAll", "withdrawFirst: true")) + keep
	w := fleetOf(t, text, "dev/d", "mid/m", "prod/p")
	w.available["p"] = 2
	w.settle()
	require.Equal(t, "dev", w.status.ActiveStage)
	require.Equal(t, []string{"d"}, w.served())
	w.settle()
	require.Equal(t, "dev", w.status.ActiveStage, "it does not swing")
	w.available["p"] = 1
	w.meta.Generation++
	w.settle()
	require.Equal(t, []string{"d"}, w.served(), "no edit begins it again")
	w.retry("mid")
	w.settle()
	w.retry("prod")
	w.settle()
	require.Equal(t, []string{"d", "m", "p"}, w.served())
}

func TestRollbackBatchKeepsGoodBatches(t *testing.T) {
	text := policyText(stageText("prod", "prod", "maxConcurrency: 1", "failureCondition: num('sum') > 1", "onFailure: RollbackBatch", "withdrawFirst: true"))
	w := fleetOf(t, text, "prod/p0", "prod/p1", "prod/p2")
	w.available["p1"] = 2
	w.settle()
	require.Equal(t, []string{"p0"}, w.served())
	require.True(t, w.holds("Stalled"))
	require.Contains(t, w.last.Message, "batch 2 was rolled back until another revision comes or a retry is asked for: failureCondition is true for deployments.apps shop/web in p1: saw agg: sum = 2")
	w.available["p1"] = 1
	w.settle()
	require.Equal(t, []string{"p0"}, w.served())
	w.retry("prod")
	w.settle()
	require.Equal(t, []string{"p0", "p1", "p2"}, w.served())
}

func TestPausedPolicy(t *testing.T) {
	text := policyText(stageText("dev", "dev"), stageText("prod", "prod", "failureCondition: num('sum') > 1", "onFailure: Rollback", "withdrawFirst: true", "maxConcurrency: 1"))
	w := fleetOf(t, text+"  paused: true\n", "dev/d", "prod/p0", "prod/p1")
	w.settle()
	require.True(t, w.holds("Paused"))
	require.Empty(t, w.exist())
	w.edit(text)
	w.decide()
	w.edit(text + "  paused: true\n")
	w.settle()
	require.Equal(t, []string{"d"}, w.served(), "what is there stays")
	w.available["p0"] = 0
	w.edit(text)
	w.settle()
	w.available["p0"] = 1
	w.edit(text + "  paused: true\n")
	w.settle()
	require.Equal(t, []string{"p0"}, w.served())
	w.available["p0"] = 2
	w.settle()
	require.Equal(t, "prod", w.status.ActiveStage, "nor is anything rolled back")
	require.True(t, w.holds("Paused"))
}

func TestObjectsWithoutStatusAreNotWaitedFor(t *testing.T) {
	w := fleetOf(t, twoStages("    condition: reported >= 0\n    guards: {allowErrors: true}\n"), "dev/dev1", "prod/p")
	config := deployment("config")
	config.Group, config.Resource = "", "configmaps"
	w.boundAt, w.returned["dev1"] = start, start
	seen := func() bindingpolicy.Observation {
		w.objects = append(w.objects[:1:1], config)
		o := w.observe()
		for i := range o.Reports {
			if o.Reports[i].Object.Resource == "configmaps" {
				o.Reports[i].Clusters = nil // no cluster reports what has no status
			}
		}
		return o
	}
	for range 6 {
		for _, do := range w.actions(bindingpolicy.Decide(w.policy, w.status, seen(), w.now)) {
			do()
		}
	}
	require.Equal(t, "prod", w.status.ActiveStage, w.status.Stages[0].Message)
}

func TestRefusedTogether(t *testing.T) {
	for lines, want := range map[string]string{
		"maxFailures: 1":                                 "needs perCluster; clusters that need not report are maxSilent",
		"perCluster: {}\n    maxConcurrency: 1":          "it cannot stand beside maxConcurrency",
		"perCluster: {maxUnavailable: 0}":                "want at least 1",
		"perCluster: {progressDeadlineSeconds: 0}":       "want at least 1",
		"perCluster: {}\n    progressDeadlineSeconds: 1": "perCluster.progressDeadlineSeconds, of each cluster, and stageDeadlineSeconds",
		"perCluster: {minSuccessTime: -1s}":              "must not be negative",
		"batchSoak: 1m":                                  "it needs maxConcurrency",
		"batchesInWindows: true":                         "it needs maxConcurrency or perCluster",
		"onFailure: RollbackBatch":                       "RollbackBatch needs maxConcurrency",
		"onFailure: Rollbak":                             `want Pause or Continue or Rollback or RollbackAll or RollbackBatch, got "Rollbak"`,
		"approval: {after: true, timeoutSeconds: 0}":     "want at least 1",
		"maxSilent: 101%":                                "at most 100%",
	} {
		_, err := staged.Compile(staged.Options{}, staged.Parse("p.yaml", []byte(policyText(stageText("prod", "prod", strings.Split(lines, "\n    ")...)))))
		require.ErrorContains(t, err, want, lines)
	}
	p := compile(t, policyText(stageText("prod", "prod", "onFailure: Rollback")))
	require.ErrorContains(t, p.Warnings(), "Rollback in the first stage is Pause")
}

// Clusters are divided in the order of a label, and then by name. Clusters without the label come last.
func TestClustersAreDividedInTheOrderOfALabel(t *testing.T) {
	s := newStore(t, policyText(stageText("prod", "prod", "maxConcurrency: 1", "sortBy: rank"))+stagedUpdates, "prod/a", "prod/b", "prod/c", "prod/d")
	s.clusters["c"]["rank"], s.clusters["a"]["rank"] = "1", "2"
	var order []string
	for range 20 {
		s.roll(1)
		for _, name := range []string{"a", "b", "c", "d"} {
			if s.have[name] != "" && !slices.Contains(order, name) {
				order = append(order, name)
			}
		}
	}
	require.Equal(t, []string{"c", "a", "b", "d"}, order, s.last.Message)
}

// The status keeps the last ten attempts, with their outcome.
func TestTheLastTenAttemptsAreKept(t *testing.T) {
	s := newStore(t, policyText(stageText("dev", "dev"))+stagedUpdates, "dev/d")
	for n := range 12 {
		s.source = fmt.Sprint(n + 1)
		s.roll(6)
		require.True(t, s.holds("Succeeded"), s.last.Message)
	}
	require.Len(t, s.status.History, 10)
	require.Equal(t, "r3-3", s.status.History[0].Revision)
	require.Equal(t, "r12-12", s.status.History[9].Revision)
	require.Equal(t, "Succeeded", s.status.History[9].Outcome)
}
