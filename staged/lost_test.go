package staged_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

func TestALostStatusTakesNothingAway(t *testing.T) {
	for _, retention := range []string{"", keep} {
		w := fleetOf(t, policyText(stageText("dev", "dev", "approval: {after: true}"), stageText("prod", "prod", "soak: 1h"), stageText("end", "end", "approval: {before: true}"))+retention, "dev/d1", "prod/p1", "end/e1")
		w.approve("after.dev")
		w.settle()
		require.Equal(t, "prod", w.status.ActiveStage)
		w.annotate(v1alpha1.ApprovalPrefix+"before.end", "alice")
		w.status = v1alpha1.Status{}
		w.sleep(time.Minute)
		w.available["d1"] = 0
		w.settleKeeping("p1")
		require.Equal(t, "prod", w.status.ActiveStage)
		w.pass(2 * time.Hour)
		w.settle()
		require.Equal(t, "prod", w.status.ActiveStage, "nothing that exists is taken for approved")
		w.approveAs("before.end", "bob")
		w.settle()
		require.Equal(t, "end", w.status.ActiveStage, w.last.Message)
	}
}

// A removal that was decided before the status was lost must not be carried out on what the
// recovered status takes for its own: that has a new version, so the removal fails.
func TestAfterALossBindingPoliciesGetANewVersion(t *testing.T) {
	w := fleetOf(t, policyText(stageText("dev", "dev"), stageText("prod", "prod")), "dev/d", "prod/p")
	w.settle()
	before := w.policies["s.stage.prod"].Annotations[v1alpha1.VersionAnnotation]
	w.status = v1alpha1.Status{}
	w.sleep(time.Minute)
	d := w.decide(1)
	require.Len(t, d.Ensure, 1)
	require.NotEqual(t, before, d.Ensure[0].Annotations[v1alpha1.VersionAnnotation])
	require.False(t, w.holds("Succeeded"), "it does not count until it has it")
	require.Contains(t, w.status.Conditions[0].Message, "BindingPolicy s.stage.prod is not updated yet")
	w.decide()
	w.settle()
	require.True(t, w.holds("Succeeded"), w.last.Message)
}

// A program that is late sees a BindingPolicy of before it was removed and made again. That is no restored backup.
func TestAnOldViewIsNoRestoredStatus(t *testing.T) {
	text := func(more ...string) string {
		return policyText(stageText("prod", "prod", append(more, "soak: 1h")...)) + keep
	}
	w := fleetOf(t, text("maxConcurrency: 1"), "prod/p1")
	w.settle()
	const name = "s.stage.prod.1"
	old := w.policies[name]
	w.edit(text())
	w.settle()
	require.NotContains(t, w.exist(), name)
	w.edit(text("maxConcurrency: 1"))
	w.decide()
	made := w.policies[name]
	require.NotEqual(t, old.UID, made.UID)
	w.policies[name] = old
	w.decide(1)
	w.policies[name] = made
	w.settle()
	require.EqualValues(t, 1, stageStatus(w.status, "prod").Attempt, w.log)
}

// A status that is restored from before a loss has older versions than what exists: nothing goes back to them.
func TestAfterARestoreNoVersionGoesBack(t *testing.T) {
	w := fleetOf(t, policyText(stageText("prod", "prod")), "prod/p")
	w.settle()
	old := w.status
	w.status = v1alpha1.Status{}
	w.sleep(time.Minute)
	w.settle()
	version := func() string { return w.policies["s.stage.prod"].Annotations[v1alpha1.VersionAnnotation] }
	before := version()
	w.status = old
	w.settle()
	require.Greater(t, version(), before)
	require.True(t, w.holds("Succeeded"), w.last.Message)
}

// A status that is restored together with a newer revision: the placements of later stages keep their versions until
// their turn comes, and no version goes back.
func TestAfterARestoreNoVersionOfALaterStageGoesBack(t *testing.T) {
	w := fleetOf(t, policyText(stageText("dev", "dev"), stageText("prod", "prod"))+keep+"  updates: Staged\n  requireEvidence: None\n", "dev/d", "prod/p")
	w.settle()
	require.True(t, w.holds("Succeeded"), w.last.Message)
	old := w.status
	w.join("prod/p2")
	w.settle()
	version := func() string { return w.policies["s.stage.prod"].Annotations[v1alpha1.VersionAnnotation] }
	before := version()
	require.Greater(t, before, fmt.Sprint(old.Version))
	w.status, w.available["d"] = old, 0
	w.objects = []kubestellar.Object{deployment("web")}
	w.objects[0].ResourceVersion = "2"
	for range 10 {
		w.decide()
		require.GreaterOrEqual(t, version(), before)
		w.sleep(time.Second)
	}
	require.Equal(t, "dev", w.status.ActiveStage, w.last.Message)
	w.available["d"] = 1
	w.settle()
	require.True(t, w.holds("Succeeded"), w.last.Message)
	require.Equal(t, []string{"d", "p", "p2"}, w.served())
}

// Two programs begin again with the first stage, which waits for an approval, and one of them has not seen what the other
// has placed. No status was lost, so that no later stage begins.
func TestAPlacementWithoutARecordIsNoLoss(t *testing.T) {
	text := func(second, third string) string {
		return policyText(stageText("first", "dev", "approval: {before: true}"), stageText(second, "prod"), stageText(third, "end")) + stagedUpdates + "  onChange: Restart\n"
	}
	s := newStore(t, text("second", "third"), "dev/d", "prod/p", "end/e")
	approve := func() {
		s.decide()
		s.meta.Annotations = map[string]string{v1alpha1.ApprovalPrefix + "before.first": stageStatus(s.status, "first").Awaiting.Ticket + " jane"}
	}
	approve()
	s.roll(12)
	require.True(t, s.holds("Succeeded"), s.last.Message)
	s.source, s.meta.Annotations = "2", nil
	s.decide()
	before := maps.Clone(s.told)
	edit := func(text string) {
		s.policy = compile(t, text)
		s.meta.Generation++
		s.decide()
	}
	edit(text("renamed", "third"))
	after := maps.Clone(s.told)
	s.told = before
	edit(text("second", "third"))
	s.told = after
	s.roll(5)
	require.Empty(t, s.status.ActiveStage, s.last.Message)
	s.check(map[string]string{"d": "1", "p": "1", "e": "1"})
	approve()
	s.roll(12)
	s.check(map[string]string{"d": "2", "p": "2", "e": "2"})
}

// What is observed of clusters in the decision that finds a restored status rests on that status. Deciding again
// before the new status is written changes nothing.
func TestDecidingAgainAfterARestoreChangesNothing(t *testing.T) {
	s := newStore(t, policyText(stageText("dev", "dev"), stageText("prod", "prod"))+stagedUpdates, "dev/d", "prod/p")
	s.roll(8)
	require.True(t, s.holds("Succeeded"), s.last.Message)
	old := s.status
	s.source = "2"
	s.roll(8)
	s.status = old
	s.decide()
	require.Contains(t, s.last.Message, "nothing is changed until it is known what d, p has")
	s.decide()
	require.NotContains(t, s.last.Message, "nothing is changed until")
	s.roll(8)
	require.True(t, s.holds("Succeeded"), s.last.Message)
	s.check(map[string]string{"d": "2", "p": "2"})
}

// A stage that has begun with an approval waits for another one after its status was restored: no approval from before counts. Its
// clusters keep what they have.
func TestAStageThatHasBegunIsApprovedAgainAfterARestore(t *testing.T) {
	s := newStore(t, policyText(stageText("dev", "dev"), stageText("prod", "prod", "approval: {before: true}", "soak: 1h"))+stagedUpdates, "dev/d", "prod/p")
	ticket := func() string {
		s.t.Helper()
		waits := stageStatus(s.status, "prod").Awaiting
		require.NotNil(t, waits, s.last.Message)
		return waits.Ticket
	}
	approve := func() {
		s.meta.Annotations = map[string]string{v1alpha1.ApprovalPrefix + "before.prod": ticket() + " jane"}
	}
	s.roll(6)
	approve()
	s.roll(4)
	s.check(map[string]string{"d": "1", "p": "1"})
	old, first := s.status, s.meta.Annotations
	s.clusters["p2"] = map[string]string{"env": "prod", "name": "p2"}
	s.roll(4) // the new cluster has a newer version
	s.status = old
	s.roll(6)
	require.Contains(t, s.last.Message, `stage "prod" is not started: waits for the annotation`)
	require.NotContains(t, first[v1alpha1.ApprovalPrefix+"before.prod"], ticket())
	require.Equal(t, "1", s.have["p"])
	approve()
	s.roll(6)
	require.Equal(t, v1alpha1.Soaking, stageStatus(s.status, "prod").Phase, s.last.Message)
	s.check(map[string]string{"d": "1", "p": "1", "p2": "1"})
}
