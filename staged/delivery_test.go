package staged_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// tolerant is a condition that holds although clusters are set aside.
var tolerant = []string{"condition: num('sum') >= 1", "guards: {allowErrors: true}"}

// deliveryDeadlineSeconds belongs to each cluster, and begins when the order for it was observed: a cluster that
// joins later has as long as the others had, and a cluster without an order is not late (2.5).
func TestADeliveryDeadlineIsThatOfEachCluster(t *testing.T) {
	dev := stageText("dev", "dev", append(tolerant, "deliveryDeadlineSeconds: 30", "maxFailures: 2")...)
	s := newStore(t, policyText(dev, stageText("prod", "prod"))+stagedUpdates, "dev/d1", "dev/d2", "dev/d4", "prod/p")
	s.roll(8)
	require.True(t, s.holds("Succeeded"), s.last.Message)
	s.offline = map[string]bool{"d2": true, "d3": true}
	s.refused, s.source = map[string]bool{"d4": true}, "2"
	s.roll(11)
	s.clusters["d3"] = map[string]string{"env": "dev", "name": "d3"}
	s.roll(8)
	require.Equal(t, "r2-2 was not delivered within 30s", s.record("d2").SetAside)
	require.Empty(t, s.record("d3").SetAside, "it has joined 16 seconds ago")
	s.roll(14)
	require.Equal(t, "r2-2 was not delivered within 30s", s.record("d3").SetAside)
	require.Empty(t, s.record("d4").SetAside, "no order was written")
	require.Contains(t, s.last.Message, "r2-2 is not delivered to d4 (it has r1-1)")
	s.refused = nil
	s.roll(10)
	require.True(t, s.holds("Succeeded"), s.last.Message)
	require.Contains(t, s.last.Message, "except in d2 (r1-1), d3 (an unknown revision)")
	require.Empty(t, stageStatus(s.status, "dev").Deliveries)
}

// With updates AtOnce the stage goes on with another revision. Its delivery begins then.
func TestADeliveryDeadlineBeginsAgainWithARevision(t *testing.T) {
	dev := stageText("dev", "dev", append(tolerant, "deliveryDeadlineSeconds: 30", "maxFailures: 1")...)
	s := newStore(t, policyText(dev)+keep, "dev/d1", "dev/d2")
	s.offline["d2"] = true
	s.roll(13)
	s.source = "2"
	s.roll(8)
	require.Empty(t, s.record("d2").SetAside, "it was told 14 seconds ago")
	s.roll(10)
	require.Equal(t, "r2-2 was not delivered within 30s", s.record("d2").SetAside)
}

// More deliveries that take too long than maxFailures allows fail nothing by themselves: the stage waits.
func TestLateDeliveriesFailNothing(t *testing.T) {
	for _, field := range []string{"progressDeadlineSeconds: 30", "perCluster: {maxUnavailable: 3, progressDeadlineSeconds: 30}"} {
		dev := stageText("dev", "dev", append(tolerant, "deliveryDeadlineSeconds: 30", "onFailure: Rollback", field)...)
		s := newStore(t, policyText(dev)+stagedUpdates, "dev/d1", "dev/d2")
		s.roll(8)
		require.True(t, s.holds("Succeeded"), s.last.Message)
		s.source, s.offline["d2"] = "2", true
		s.roll(60)
		require.Equal(t, v1alpha1.Progressing, stageStatus(s.status, "dev").Phase, s.last.Message)
		require.Contains(t, s.last.Message, "set aside")
		s.check(map[string]string{"d1": "2", "d2": "1"})
		s.offline["d2"] = false
		s.roll(8)
		require.True(t, s.holds("Succeeded"), s.last.Message)
		s.check(map[string]string{"d1": "2", "d2": "2"})
	}
}
