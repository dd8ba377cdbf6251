package staged_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A cluster that joins a stage that is satisfied, and whose next stage waits, is good with the revision once the
// stage is satisfied with it as well.
func TestAClusterThatJoinsAFulfilledStageGoesBackToItsRevision(t *testing.T) {
	text := policyText(stageText("dev", "dev", "maxConcurrency: 1", "progressDeadlineSeconds: 30", "onFailure: Rollback"), stageText("prod", "prod", "approval: {before: true}")) + stagedUpdates
	s := newStore(t, text, "dev/d1", "prod/p")
	s.roll(6)
	require.Equal(t, v1alpha1.Soaking, stageStatus(s.status, "dev").Phase, s.last.Message)
	s.clusters["d2"] = map[string]string{"env": "dev", "name": "d2"}
	s.roll(6)
	require.Equal(t, string(idOf("1")), s.record("d2").LastGood, s.last.Message)
	s.source, s.bad["d2@2"] = "2", true
	s.roll(40)
	require.Equal(t, v1alpha1.RolledBack, stageStatus(s.status, "dev").Phase, s.last.Message)
	s.check(map[string]string{"d1": "1", "d2": "1"})
	require.Equal(t, []string{"1", "2", "1"}, s.seen["d2"])
}

// A cluster that joins while a stage soaks is served, and the stage does not wait for it: its soak goes on, and no
// deadline passes because of the cluster. A failure there counts (2.7).
func TestALateClusterResetsNoSoak(t *testing.T) {
	for _, offline := range []bool{true, false} {
		dev := stageText("dev", "dev", "soak: 60s", "progressDeadlineSeconds: 20", "failureCondition: num('sum') < 0")
		s := newStore(t, policyText(dev, stageText("prod", "prod"))+stagedUpdates, "dev/d1", "prod/p")
		s.roll(10)
		s.clusters["d2"] = map[string]string{"env": "dev", "name": "d2"}
		s.offline["d2"], s.bad["d2@1"] = offline, true
		s.roll(26)
		require.Equal(t, "1", s.have["p"], s.last.Message)
		require.Equal(t, !offline, s.have["d2"] == "1")
	}
}

// A stage that was inserted before the active one, and waits, is still to come for its clusters: under retention
// Move they keep what they have. The clusters that the active stage had before cover no passed stage.
func TestClustersOfAStageThatMustBePassedFirstKeepWhatTheyHave(t *testing.T) {
	first := policyText(stageText("sa", "a"), stageText("sb", "b")) + "  updates: Staged\n"
	s := newStore(t, first, "a/a1", "b/b1", "c/c1")
	s.bad["a1@1"] = true
	s.roll(6)
	require.Equal(t, "1", s.have["a1"])
	s.policy = compile(t, policyText(stageText("sc", "a", "approval: {before: true}"), stageText("sa", "c"))+"  updates: Staged\n")
	s.meta.Generation++
	s.roll(10)
	require.Equal(t, "1", s.have["a1"], s.last.Message)
	require.Contains(t, s.last.Message, `stage "sc" is not started`)
}

// A Binding may be older than the clusters that a player sees: also without access to the space, a stage waits for the
// Binding that holds all of them.
func TestAStageWaitsForABindingOfAllItsClusters(t *testing.T) {
	w := newWorld(t, twoStages(""))
	w.available["dev1"] = 1
	w.extend = func(seen *bindingpolicy.Observation) {
		seen.Clusters = maps.Clone(seen.Clusters)
		seen.Clusters["dev2"] = map[string]string{"env": "dev", "name": "dev2"}
	}
	w.settle()
	require.Equal(t, "dev", w.status.ActiveStage, w.last.Message)
	require.Contains(t, w.last.Message, "has no destination dev2 yet")
	w.extend = nil
	w.settle()
	require.Equal(t, "prod", w.status.ActiveStage, w.last.Message)
}

// A Binding may hold a cluster that has moved to a later stage: the stage that it has left does not know that it is
// good there, so that a rollback of the later stage does not go back to that.
func TestAStageIsFulfilledForClustersThatItSelects(t *testing.T) {
	w := newWorld(t, twoStages(fields("condition: num('sum') == 2")))
	w.clusters["dev2"] = map[string]string{"env": "dev", "name": "dev2"}
	w.available["dev1"], w.available["dev2"] = 1, 1
	w.extend = func(seen *bindingpolicy.Observation) {
		seen.Clusters = maps.Clone(seen.Clusters)
		seen.Clusters["dev2"] = map[string]string{"env": "prod", "name": "dev2"}
	}
	for w.status.ActiveStage != "prod" {
		w.decide()
	}
	good := map[string]string{}
	for _, c := range w.status.Cohorts {
		for _, name := range c.Clusters {
			good[name] = c.LastGood
		}
	}
	require.Equal(t, w.status.Wanted, good["dev1"])
	require.Empty(t, good["dev2"])
}

// A cluster joins a stage, and somebody else was there first: nothing is placed there, and the stage is not fulfilled
// until the other owner is gone (2.10).
func TestAStageWithAContestedClusterIsNotFulfilled(t *testing.T) {
	for _, field := range []string{"soak: 20s", "maxConcurrency: 2"} {
		s := newStore(t, policyText(stageText("dev", "dev", field), stageText("prod", "prod"))+stagedUpdates, "dev/d1", "prod/p")
		s.bad["d1@1"] = field != "soak: 20s"
		s.roll(5)
		s.clusters["d2"] = map[string]string{"env": "dev", "name": "d2"}
		s.others = []v1alpha1.Conflict{{Owner: "BindingPolicy other", Clusters: []string{"d2"}}}
		s.bad["d1@1"] = false
		s.roll(20)
		s.check(map[string]string{"d1": "1"})
		require.Contains(t, s.last.Message, `stage "dev": BindingPolicy other places the same objects in d2`)
		require.True(t, s.holds("Conflict") && s.holds("Stalled"))
		s.others = nil
		s.roll(20)
		s.check(map[string]string{"d1": "1", "d2": "1", "p": "1"})
	}
}
