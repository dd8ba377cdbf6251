package staged_test

import (
	"testing"

	"github.com/stretchr/testify/require"
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
