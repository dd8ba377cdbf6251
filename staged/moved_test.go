package staged_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// Under retention Move, a cluster that moves from a passed stage to a later one keeps what it has until the later
// stage gives it something (2.7).
func TestAClusterThatMovesAheadKeepsWhatItHas(t *testing.T) {
	text := policyText(stageText("dev", "dev"), stageText("mid", "mid"), stageText("prod", "prod"))
	u := newUpdated(t, text, "dev/d1", "dev/d2", "mid/m", "prod/p")
	u.available["m"] = 0
	u.offline = map[string]bool{"m": true}
	for range 30 {
		if u.status.ActiveStage == "mid" {
			break
		}
		u.decide()
		u.deliver()
	}
	require.Equal(t, "mid", u.status.ActiveStage, u.last.Message)
	u.join("prod/d2")
	u.roll(8)
	require.Equal(t, "1", u.have["d2"], u.last.Message)
	u.available["m"] = 1
	for range 30 {
		u.roll(1)
		require.Equal(t, "1", u.have["d2"], u.last.Message)
	}
	require.True(t, u.holds("Succeeded"), u.last.Message)
	u.checkAll(map[string]string{"d2": "1", "p": "1"})
}

// A passed stage that an edit moves behind the active one has to be passed again: under retention Move its clusters
// keep what they have, although its placement was about to be removed.
func TestAPassedStageThatIsMovedBehindKeepsWhatItHas(t *testing.T) {
	u := newUpdated(t, policyText(stageText("dev", "dev"), stageText("prod", "prod")), "dev/d", "prod/p")
	for u.status.ActiveStage != "prod" {
		u.roll(1)
	}
	require.Equal(t, "1", u.have["d"])
	u.policy = compile(t, policyText(stageText("prod", "prod", "approval: {after: true}"), stageText("dev", "dev"))+"  updates: Staged\n")
	u.meta.Generation++
	u.roll(8)
	u.checkAll(map[string]string{"d": "1", "p": "1"})
}

// The stages change places, and back again at once: what the first edit wanted to remove stays in the clusters of the
// stage that is the later one again, until its turn comes.
func TestStagesThatChangePlacesAndBackKeepWhatTheyHave(t *testing.T) {
	order := policyText(stageText("dev", "dev", "soak: 30s"), stageText("prod", "prod", "maxConcurrency: 2", "soak: 1h"))
	swapped := policyText(stageText("prod", "dev", "soak: 30s"), stageText("dev", "prod", "maxConcurrency: 2", "soak: 1h"))
	u := newUpdated(t, order, "dev/d", "prod/p")
	for u.have["p"] == "" {
		u.roll(1)
	}
	u.edit(swapped + "  updates: Staged\n")
	u.decide()
	u.edit(order + "  updates: Staged\n")
	for range 8 {
		u.roll(1)
		require.Equal(t, "1", u.have["p"], u.last.Message)
	}
}

// The same with a stage that an edit takes out of the spec, and the next one brings back.
func TestAStageThatComesBackKeepsWhatItHas(t *testing.T) {
	dev, prod := stageText("dev", "dev", "soak: 30s"), stageText("prod", "prod", "soak: 1h")
	u := newUpdated(t, policyText(dev, prod), "dev/d", "prod/p")
	for u.have["p"] == "" {
		u.roll(1)
	}
	u.release("2")
	u.decide()
	require.Equal(t, "dev", u.status.ActiveStage)
	u.edit(policyText(stageText("dev", "none")) + "  updates: Staged\n")
	u.decide()
	u.edit(policyText(dev, prod) + "  updates: Staged\n")
	for range 8 {
		u.roll(1)
		require.NotEmpty(t, u.have["p"], u.last.Message)
	}
}

// A cluster that has moved to a later stage stays in the placement of its old one until the later stage has begun, and
// the old one does not wait for it.
func TestAStageDoesNotWaitForClustersThatItOnlyKeeps(t *testing.T) {
	u := newUpdated(t, policyText(stageText("dev", "dev"), stageText("prod", "prod"))+keep, "dev/d1", "dev/d2", "prod/p")
	u.available["d2"] = 0
	u.roll(4)
	require.Equal(t, "dev", u.status.ActiveStage, u.last.Message)
	u.join("prod/d2")
	u.available["d2"] = 0
	u.roll(4)
	require.Equal(t, "prod", u.status.ActiveStage, u.last.Message)
	require.Equal(t, "1", u.have["d2"], u.last.Message)
}

// A passed stage lets a cluster that has moved go only once the placement of its new stage was applied there, not as soon as a Binding
// of that names it.
func TestAPlacementCoversWhereItWasApplied(t *testing.T) {
	u := newUpdated(t, policyText(stageText("dev", "dev"), stageText("prod", "prod"))+keep, "dev/d1", "dev/d2", "prod/p")
	u.roll(10)
	require.True(t, u.holds("Succeeded"), u.last.Message)
	content, holders := u.extend, []string{"s.stage.dev"}
	u.extend = func(seen *bindingpolicy.Observation) {
		content(seen)
		for n := range seen.Delivered {
			if seen.Delivered[n].Name == "d2" {
				seen.Delivered[n].Holders = holders
			}
		}
	}
	selected := func() string { return fmt.Sprint(u.policies["s.stage.dev"].Spec.ClusterSelectors) }
	u.join("prod/d2")
	u.roll(6)
	require.Contains(t, selected(), "[d1 d2]", u.last.Message)
	holders = append(holders, "s.stage.prod")
	u.roll(6)
	require.Contains(t, selected(), "[d1]", u.last.Message)
	u.checkAll(map[string]string{"d1": "1", "d2": "1", "p": "1"})
}

// A cluster has joined the last stage, and its Binding does not name it yet when the turn of that stage comes again: the stage before
// keeps the workload until it does.
func TestAStageThatLacksAClusterCoversNothing(t *testing.T) {
	u := newUpdated(t, policyText(stageText("dev", "dev"), stageText("prod", "prod")), "dev/d", "prod/p")
	u.roll(12)
	require.True(t, u.holds("Succeeded"), u.last.Message)
	content := u.extend
	u.extend = func(seen *bindingpolicy.Observation) {
		content(seen)
		for n, b := range seen.Bindings {
			if b.Name == "s.stage.prod" {
				seen.Bindings[n].Spec.Destinations = []control.Destination{{ClusterID: "p"}}
			}
		}
	}
	u.join("prod/p2")
	u.release("2")
	for u.status.ActiveStage != "prod" || u.last.Message == "" {
		u.roll(1)
	}
	u.roll(4)
	require.Contains(t, u.last.Message, "has no destination p2 yet")
	require.Equal(t, []string{"s.stage.dev", "s.stage.prod"}, u.exist())
	u.extend = content
	u.roll(6)
	require.Equal(t, []string{"s.stage.prod"}, u.exist(), u.last.Message)
	u.checkAll(map[string]string{"p": "2", "p2": "2"})
}

// A revision comes back before the order to leave it could be written for all clusters: the clusters that have that order get one that
// is newer.
func TestAClusterThatComesBackGetsANewerOrder(t *testing.T) {
	s := newStore(t, policyText(stageText("prod", "prod"))+stagedUpdates, "prod/p1", "prod/p2")
	s.roll(8)
	require.True(t, s.holds("Succeeded"), s.last.Message)
	s.refused = map[string]bool{"p2": true}
	s.source = "2"
	s.decide()
	left := s.told["p1"]
	require.Equal(t, idOf("2"), left.Revision)
	s.source = "1"
	s.decide()
	require.Equal(t, idOf("1"), s.told["p1"].Revision)
	require.Greater(t, s.told["p1"].Version, left.Version)
}

// A deadline begins when all clusters of the stage have the revision: a cluster that joins has as long as the others
// had. The deadline of one cluster begins again when the revision is delivered there again (2.5).
func TestADeadlineBeginsWithTheLastDelivery(t *testing.T) {
	for _, field := range []string{"progressDeadlineSeconds: 30", "perCluster: {maxUnavailable: 3, progressDeadlineSeconds: 30}"} {
		s := newStore(t, policyText(stageText("dev", "dev", field))+stagedUpdates, "dev/d1")
		joins := field == "progressDeadlineSeconds: 30"
		cluster := "d1"
		s.bad["d1@1"] = true
		s.roll(12)
		if joins {
			cluster = "d2"
			s.clusters[cluster] = map[string]string{"env": "dev", "name": cluster}
		}
		s.offline[cluster] = true
		delete(s.have, cluster)
		s.roll(4)
		s.offline[cluster] = false
		s.roll(14)
		require.Equal(t, v1alpha1.Progressing, stageStatus(s.status, "dev").Phase, s.last.Message)
		s.roll(6)
		require.Equal(t, v1alpha1.Failed, stageStatus(s.status, "dev").Phase, s.last.Message)
	}
}
