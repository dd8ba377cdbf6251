package staged_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// allReady is a condition that holds once every destination has a replica.
const allReady = "condition: num('sum') == size(destinations)"

// stageText is the definition of a stage for clusters of an environment, without a condition if
// the first line is another condition.
func stageText(name, env string, lines ...string) string {
	if len(lines) == 0 || !strings.HasPrefix(lines[0], "condition:") {
		lines = append([]string{allReady}, lines...)
	}
	return "  - name: " + name + "\n" + fields(append([]string{"clusterSelectors: [{matchLabels: {env: " + env + "}}]"}, lines...)...)
}

func policyText(stages ...string) string {
	return policyHead + "  stages:\n" + strings.Join(stages, "")
}

const keep = "  retention: Keep\n"

// fleetOf is a world with these clusters, env/name each; all of them are ready.
func fleetOf(t *testing.T, text string, clusters ...string) *world {
	w := newWorld(t, text)
	w.clusters = map[string]map[string]string{}
	w.join(clusters...)
	return w
}

func (w *world) join(clusters ...string) {
	w.clusters = maps.Clone(w.clusters)
	for _, c := range clusters {
		env, name, _ := strings.Cut(c, "/")
		w.clusters[name] = map[string]string{"env": env, "name": name}
		w.available[name] = 1
	}
}

func (w *world) leave(name string) {
	w.clusters = maps.Clone(w.clusters)
	delete(w.clusters, name)
}

func (w *world) edit(text string) {
	w.policy = compile(w.t, text)
	w.meta.Generation++
}

// served are the clusters that have the workload.
func (w *world) served() (names []string) {
	for _, p := range w.policies {
		found, err := kubestellar.Destinations(p.Spec.ClusterSelectors, w.clusters)
		require.NoError(w.t, err)
		for _, d := range found {
			names = append(names, d.ClusterID)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// settleKeeping settles, and checks after every write that these clusters have the workload.
func (w *world) settleKeeping(names ...string) {
	w.t.Helper()
	for range 20 {
		for _, do := range w.actions(bindingpolicy.Decide(w.policy, w.status, w.observe(), w.now)) {
			do()
			served := w.served()
			for _, name := range names {
				require.Contains(w.t, served, name)
			}
		}
	}
	w.settle()
}

var prods = []string{"prod/p0", "prod/p1", "prod/p2", "prod/p3", "prod/p4"}

func names(clusters []string) (all []string) {
	for _, c := range clusters {
		_, name, _ := strings.Cut(c, "/")
		all = append(all, name)
	}
	return all
}

func TestMaxConcurrencyAddedLaterTakesNothingAway(t *testing.T) {
	for _, tc := range []struct{ name, before, after string }{
		{"after the end", policyText(stageText("dev", "dev"), stageText("prod", "prod")),
			policyText(stageText("dev", "dev"), stageText("prod", "prod", "maxConcurrency: 1"))},
		{"while the stage is active", policyText(stageText("dev", "dev"), stageText("prod", "prod", "soak: 30m"), stageText("end", "none")),
			policyText(stageText("dev", "dev"), stageText("prod", "prod", "soak: 30m", "maxConcurrency: 20%"), stageText("end", "none"))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := fleetOf(t, tc.before, append([]string{"dev/d1"}, prods...)...)
			w.settle()
			require.Equal(t, names(prods), w.served())
			w.edit(tc.after)
			w.settleKeeping(names(prods)...)
			require.Equal(t, names(prods), w.served())
			require.NotContains(t, w.exist(), "s.stage.prod")
		})
	}
}

func TestMaxConcurrencyRemovedFromAPassedStageTakesNothingAway(t *testing.T) {
	text := func(lines ...string) string {
		return policyText(stageText("dev", "dev", lines...), stageText("prod", "prod", "approval: {after: true}")) + keep
	}
	w := fleetOf(t, text("maxConcurrency: 1"), "dev/d1", "dev/d2", "prod/p1")
	w.settle()
	require.Equal(t, []string{"d1", "d2", "p1"}, w.served())
	w.edit(text())
	require.Empty(t, bindingpolicy.Decide(w.policy, w.status, w.observe(), w.now).Remove, "the new BindingPolicy has no Binding yet")
	w.settleKeeping("d1", "d2", "p1")
	require.Equal(t, []string{"s.stage.dev", "s.stage.prod"}, w.exist())
}

// A cluster that the next stage selects, but whose Binding does not list it yet, keeps what it has.
func TestARelabelledClusterKeepsTheWorkloadUntilItHasItElsewhere(t *testing.T) {
	w := fleetOf(t, policyText(stageText("dev", "dev"), stageText("prod", "prod")), "dev/d", "dev/x", "prod/p")
	for len(w.policies) < 2 {
		w.decide()
	}
	seen := w.observe()
	require.Equal(t, []string{"s.stage.dev"}, bindingpolicy.Decide(w.policy, w.status, seen, w.now).Remove, "without a relabel")
	w.join("prod/x")
	seen.Clusters = w.clusters
	require.Empty(t, bindingpolicy.Decide(w.policy, w.status, seen, w.now).Remove, "the Binding of prod does not list x yet")
	require.Equal(t, []string{"s.stage.dev"}, bindingpolicy.Decide(w.policy, w.status, w.observe(), w.now).Remove)
}

func TestBatchesFollowTheirSelectors(t *testing.T) {
	stage := func(env string) string { return policyText(stageText("prod", env, "maxConcurrency: 50%", "soak: 1h")) }
	t.Run("a cluster that matches no longer loses the workload", func(t *testing.T) {
		w := fleetOf(t, stage("prod"), "prod/p1", "prod/p2")
		w.settle()
		require.Equal(t, []string{"p1"}, w.served())
		w.join("old/p1")
		w.settle()
		require.NotContains(t, w.served(), "p1")
	})
	t.Run("a cluster that matches no longer never gets it", func(t *testing.T) {
		w := fleetOf(t, stage("prod"), "prod/p1", "prod/p2", "eu/p3")
		w.settle()
		w.edit(stage("eu"))
		for range 6 {
			w.settle()
			w.pass(2 * time.Hour)
		}
		require.Equal(t, []string{"p3"}, w.served())
		require.True(t, w.holds("Succeeded"))
	})
}

func TestAStageBeforeTheActiveOneIsNotLeftOut(t *testing.T) {
	canary, region, prod := stageText("canary", "dev", "soak: 1h"), stageText("region", "mid", "approval: {after: true}"), stageText("prod", "prod")
	for _, retention := range []string{"", keep} {
		w := fleetOf(t, policyText(canary, region, prod)+retention, "dev/d1", "mid/m1", "prod/p1")
		w.settle()
		require.Equal(t, "canary", w.status.ActiveStage)
		w.edit(policyText(region, canary, prod) + retention)
		w.settleKeeping("d1")
		require.Equal(t, "region", w.status.ActiveStage)
		require.Equal(t, []string{"d1", "m1"}, w.served(), "the canary keeps what it has")
		w.approve("after.region")
		w.settle()
		require.Equal(t, "canary", w.status.ActiveStage)
		w.pass(time.Hour)
		w.settle()
		require.Equal(t, "prod", w.status.ActiveStage)
	}
}

func TestAnInsertedStageIsServedFirst(t *testing.T) {
	dev, prod, end := stageText("dev", "dev"), stageText("prod", "prod", "approval: {after: true}"), stageText("end", "none")
	w := fleetOf(t, policyText(dev, prod, end), "dev/d1", "mid/m1", "prod/p1")
	w.settle()
	require.Equal(t, "prod", w.status.ActiveStage)
	w.available["m1"] = 0
	w.edit(policyText(dev, stageText("mid", "mid"), prod, end))
	w.settleKeeping("p1")
	require.Equal(t, "mid", w.status.ActiveStage)
	w.available["m1"] = 1
	w.settleKeeping("p1")
	require.Equal(t, "prod", w.status.ActiveStage)
	require.Equal(t, []string{"p1"}, w.served())
}

func TestSkippingComesAfterTheOtherGates(t *testing.T) {
	text := func(lines ...string) string {
		lines = append([]string{"skipIfEmpty: true", "failureCondition: num('sum') > 1", "onFailure: Rollback", "withdrawFirst: true"}, lines...)
		return policyText(stageText("dev", "dev"), stageText("canary", "canary", lines...), stageText("prod", "prod"))
	}
	t.Run("paused", func(t *testing.T) {
		w := fleetOf(t, text("paused: true"), "dev/d1", "prod/p1")
		w.settle()
		require.True(t, w.holds("Paused"))
		require.Equal(t, []string{"d1"}, w.served())
		w.edit(text())
		w.settle()
		require.Equal(t, "prod", w.status.ActiveStage)
	})
	t.Run("approval", func(t *testing.T) {
		w := fleetOf(t, text("approval: {before: true}"), "dev/d1", "prod/p1")
		w.settle()
		require.Contains(t, w.last.Message, "before.canary")
		w.approve("before.canary")
		w.settle()
		require.Equal(t, "prod", w.status.ActiveStage)
	})
	t.Run("windows", func(t *testing.T) {
		w := fleetOf(t, text("windows: [{cron: '0 13 * * *', duration: 1h}]"), "dev/d1", "prod/p1")
		w.settle()
		require.Equal(t, "dev", w.status.ActiveStage)
		w.pass(time.Hour)
		w.settle()
		require.Equal(t, "prod", w.status.ActiveStage)
	})
	t.Run("rolled back", func(t *testing.T) {
		w := fleetOf(t, text(), "dev/d1", "canary/c1", "prod/p1")
		w.available["c1"] = 2
		w.settle()
		require.Equal(t, v1alpha1.RolledBack, w.phase("canary"))
		w.leave("c1")
		w.settle()
		require.Equal(t, "dev", w.status.ActiveStage)
		require.Equal(t, []string{"d1"}, w.served())
	})
}

func TestOneObservationWithoutDestinationsEndsNoSoak(t *testing.T) {
	text := policyText(stageText("canary", "canary", "skipIfEmpty: true", "soak: 10h"), stageText("prod", "prod"))
	for _, known := range []bool{true, false} {
		w := fleetOf(t, text, "canary/c1", "prod/p1")
		w.settle()
		seen := w.observe()
		for i, b := range seen.Bindings {
			empty := *b
			empty.Spec.Destinations = nil
			seen.Bindings[i] = &empty
		}
		if !known {
			seen.Clusters = nil
		}
		for _, do := range w.actions(bindingpolicy.Decide(w.policy, w.status, seen, w.now)) {
			do()
		}
		require.Equal(t, "canary", w.status.ActiveStage)
	}
}

func TestABatchWhoseClustersHaveLeftBlocksNothing(t *testing.T) {
	w := fleetOf(t, policyText(stageText("prod", "prod", "condition: num('sum') == 1", "maxConcurrency: 1")), "prod/p1", "prod/p2", "prod/p3")
	w.available["p1"] = 0
	w.settle()
	require.Equal(t, []string{"p1"}, w.served())
	w.leave("p1")
	w.settle()
	require.True(t, w.holds("Succeeded"), w.last.Message)
	require.Equal(t, []string{"p2", "p3"}, w.served())
}

func TestClustersThatJoinAFinishedOrPassedStageAreServed(t *testing.T) {
	t.Run("finished", func(t *testing.T) {
		w := fleetOf(t, policyText(stageText("dev", "dev"), stageText("prod", "prod", "maxConcurrency: 50%")), "dev/d1", "prod/p1", "prod/p2")
		w.settle()
		w.join("prod/p3")
		w.settleKeeping("p1", "p2")
		require.Equal(t, []string{"p1", "p2", "p3"}, w.served())
		require.True(t, w.holds("Succeeded"))
	})
	t.Run("passed, under Keep", func(t *testing.T) {
		w := fleetOf(t, policyText(stageText("dev", "dev", "maxConcurrency: 1"), stageText("prod", "prod", "approval: {after: true}"))+keep, "dev/d1", "prod/p1")
		w.settle()
		w.join("dev/d2")
		w.settleKeeping("d1", "p1")
		require.Equal(t, []string{"d1", "d2", "p1"}, w.served())
	})
}

func TestKeepKeepsTheWorkloadOfARenamedStage(t *testing.T) {
	w := fleetOf(t, policyText(stageText("dev", "dev"), stageText("prod", "prod"))+keep, "dev/d1", "prod/p1")
	w.settle()
	w.edit(policyText(stageText("development", "dev"), stageText("prod", "prod")) + keep)
	w.settleKeeping("d1", "p1")
	require.Equal(t, []string{"s.stage.development", "s.stage.prod"}, w.exist())
	require.True(t, w.holds("Succeeded"))
}

func TestAnApprovalBelongsToARevision(t *testing.T) {
	approved := func(t *testing.T, text string) *world {
		w := fleetOf(t, text, "dev/d1", "prod/p1")
		w.settle()
		require.Equal(t, "dev", w.status.ActiveStage)
		w.approve("before.prod")
		return w
	}
	asks := func(w *world) {
		w.settle()
		require.Equal(w.t, "dev", w.status.ActiveStage, w.last.Message)
		require.Contains(w.t, w.last.Message, "which is not this one")
		w.approveAs("before.prod", "bob")
		w.settle()
		require.Equal(w.t, "prod", w.status.ActiveStage)
	}
	text := func(env string) string {
		return policyText(stageText("dev", env), stageText("prod", "prod", "approval: {before: true}", "failureCondition: num('sum') > 1", "onFailure: Rollback", "withdrawFirst: true")) + "  onChange: Restart\n"
	}
	t.Run("after Restart", func(t *testing.T) {
		w := approved(t, text("dev"))
		w.settle()
		w.join("eu/e1")
		w.edit(text("eu"))
		asks(w)
	})
	t.Run("after a rollback", func(t *testing.T) {
		w := approved(t, text("dev"))
		w.available["p1"] = 2
		w.settle()
		require.Equal(t, v1alpha1.RolledBack, w.phase("prod"))
		w.available["p1"] = 1
		w.retry("prod")
		asks(w)
	})
	t.Run("after an edit", func(t *testing.T) {
		w := approved(t, strings.Replace(text("dev"), "  onChange: Restart\n", "", 1))
		w.available["d1"] = 0
		w.settle()
		w.edit(strings.Replace(text("eu"), "  onChange: Restart\n", "", 1))
		w.join("eu/e1")
		asks(w)
	})
	t.Run("an annotation that is removed and set again approves", func(t *testing.T) {
		w := approved(t, text("dev"))
		w.settle()
		w.join("eu/e1")
		w.edit(text("eu"))
		w.settle()
		w.meta.Annotations = nil
		w.settle()
		w.approve("before.prod")
		w.settle()
		require.Equal(t, "prod", w.status.ActiveStage)
	})
	t.Run("a gate that is edited asks for no new approval", func(t *testing.T) {
		w := approved(t, text("dev"))
		w.available["d1"] = 0
		w.settle()
		w.edit(strings.Replace(text("dev"), "onFailure: Rollback", "onFailure: Pause", 1))
		w.available["d1"] = 1
		w.settle()
		require.Equal(t, "prod", w.status.ActiveStage)
	})
}

func TestAStatusOfAnEarlierVersionIsNoFailure(t *testing.T) {
	w := fleetOf(t, policyText(stageText("dev", "dev"), stageText("prod", "prod", "failureCondition: num('sum') > 1", "onFailure: Rollback", "withdrawFirst: true")), "dev/d1", "prod/p1")
	w.boundAt, w.returned["d1"] = start, start
	w.available["p1"], w.returned["p1"] = 2, start.Add(-24*time.Hour)
	w.settle()
	require.Equal(t, "prod", w.status.ActiveStage)
	w.returned["p1"] = start
	w.settle()
	require.Equal(t, v1alpha1.RolledBack, w.phase("prod"))
}

func TestAClusterThatNeverReportsHidesNoFailure(t *testing.T) {
	w := fleetOf(t, policyText(stageText("dev", "dev"), stageText("prod", "prod", "failureCondition: reported > 0", "onFailure: Rollback", "withdrawFirst: true", "guards: {allowErrors: true}")), "dev/d1", "prod/p1", "prod/p2")
	w.boundAt, w.returned["d1"], w.returned["p1"] = start, start, start
	delete(w.available, "p2")
	w.settle()
	require.Equal(t, v1alpha1.RolledBack, w.phase("prod"))
}

func TestAFailureConditionThatFailsIsSeen(t *testing.T) {
	w := fleetOf(t, policyText(stageText("dev", "dev", "failureCondition: num('faild') > 0"), stageText("prod", "prod")), "dev/d1", "prod/p1")
	w.settle()
	require.Equal(t, "dev", w.status.ActiveStage)
	require.Contains(t, w.last.Message, "failureCondition: no collector has a column faild")
}

func TestABindingPolicyThatIsBeingDeletedDoesNotCount(t *testing.T) {
	w := fleetOf(t, policyText(stageText("dev", "dev"), stageText("prod", "prod", "soak: 1h", "failureCondition: num('sum') > 1", "onFailure: Rollback", "withdrawFirst: true")), "dev/d1", "prod/p1")
	w.decide()
	w.decide()
	require.Equal(t, []string{"s.stage.dev", "s.stage.prod"}, w.exist())
	terminating := *w.policies["s.stage.dev"] // KubeStellar's finalizer is there
	terminating.DeletionTimestamp = &metav1.Time{Time: w.now}
	w.policies["s.stage.dev"] = &terminating
	w.available["p1"] = 2
	d := bindingpolicy.Decide(w.policy, w.status, w.observe(), w.now)
	require.Equal(t, "dev", d.Status.ActiveStage)
	require.Empty(t, d.Remove)
	require.Contains(t, d.Message, "s.stage.dev is being deleted")
	w.status = d.Status
	delete(w.policies, "s.stage.dev")
	w.settleKeeping()
	require.Equal(t, []string{"s.stage.dev"}, w.exist())
}

func TestADecisionHasABudget(t *testing.T) {
	var objects []kubestellar.Object
	for i := range 50 {
		objects = append(objects, deployment(fmt.Sprintf("o%02d", i)))
	}
	policies, err := staged.Compile(staged.Options{DecisionCost: 20}, staged.Parse("p.yaml", []byte(twoStages(""))))
	require.NoError(t, err)
	w := worldOf(t, policies[0])
	w.objects, w.available["dev1"] = objects, 1
	w.decide()
	d := bindingpolicy.Decide(w.policy, w.status, w.observe(), w.now)
	require.Contains(t, d.Message, "it is evaluated later: the evaluations of one decision may cost 20 at most")
	require.Equal(t, time.Second, d.RecheckAfter)
	require.Positive(t, d.Status.Stages[0].Counts.Satisfied)
	r := bindingpolicy.NewRollout(policies[0])
	r.Update(policies[0], w.meta)
	show(r, w.observe())
	status, decisions := d.Status, 0
	for ; status.ActiveStage == "dev"; decisions++ {
		require.Less(t, decisions, 50)
		status = r.Decide(status, w.now).Status
	}
	require.Greater(t, decisions, 2, "a Rollout goes on where the last decision has stopped")
}

func show(r *bindingpolicy.Rollout, seen bindingpolicy.Observation) {
	r.ObserveClusters(seen.Clusters)
	for _, p := range seen.BindingPolicies {
		r.ObserveBindingPolicy(p)
	}
	for _, b := range seen.Bindings {
		r.ObserveBinding(b)
	}
	for _, s := range seen.Statuses {
		r.ObserveStatus(s)
	}
}

func TestAWrongClockDoesNotLast(t *testing.T) {
	w := fleetOf(t, policyText(stageText("dev", "dev", "soak: 30m"), stageText("prod", "prod")), "dev/d1", "prod/p1")
	w.decide()
	w.now = start.AddDate(1, 0, 0)
	w.decide()
	w.now = start.Add(time.Minute)
	w.settle()
	require.LessOrEqual(t, w.last.RecheckAfter, 31*time.Minute)
	w.pass(31 * time.Minute)
	w.settle()
	require.Equal(t, "prod", w.status.ActiveStage)
}

func TestABindingPolicyOfSomebodyElseStalls(t *testing.T) {
	w := fleetOf(t, policyText(stageText("dev", "dev"), stageText("prod", "prod")), "dev/d1", "prod/p1")
	seen := w.observe()
	seen.BindingPolicies = []*control.BindingPolicy{{ObjectMeta: metav1.ObjectMeta{Name: "s.stage.dev", UID: "x"}}}
	d := bindingpolicy.Decide(w.policy, w.status, seen, w.now)
	require.Empty(t, d.Ensure)
	require.Contains(t, d.Message, "BindingPolicy s.stage.dev exists and does not belong to this StagedBindingPolicy")
	w.status = d.Status
	require.True(t, w.holds("Stalled"))
}
