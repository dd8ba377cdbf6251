package staged_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
