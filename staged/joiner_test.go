package staged_test

import (
	"testing"

	"github.com/stretchr/testify/require"

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
