package player_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
	"github.com/stagecraft-go/stagecraft/internal/dev/faults"
	"github.com/stagecraft-go/stagecraft/staged/player"
)

// TestLyingServers rolls out over a server and a network that fail at random for some minutes: writes
// are lost, late or done twice, answers are false conflicts, lists are old, and watches stall, repeat
// themselves and tell of older versions after newer ones. Meanwhile prod gets nothing before dev
// has reported and its soak has passed, and keeps what it got. Once the server is sound, the rollout
// succeeds and the player comes to rest; it ends within a second. No goroutine stays: synctest waits
// for all.
func TestLyingServers(t *testing.T) {
	for seed := range uint64(effort.Of(60)) {
		synctest.Test(t, func(t *testing.T) { rollOutAmongLies(t, seed) })
	}
}

func rollOutAmongLies(t *testing.T, seed uint64) {
	const soak = 20 * time.Second
	random := rand.New(rand.NewPCG(seed, 9))
	h := newHub(t, twoStages("    soak: 20s\n"))
	dice := faults.NewDice(seed, faults.All, []float64{0.1, 0.3, 0.6}[seed%3], time.Now().Add(3*time.Minute))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan time.Time, 1)
	go func() {
		_ = player.Play(ctx, faults.Transport(h.cluster, dice), player.Options{}) // its only error is that of ctx
		ended <- time.Now()
	}()
	reports := time.Now().Add(time.Duration(random.IntN(120)) * time.Second)
	hasProd := false
	for time.Now().Before(dice.Heal().Add(3 * time.Minute)) {
		if !time.Now().Before(reports) {
			h.available["dev1"] = 1
		}
		h.turn()
		has := slices.Contains(h.exist(), "s.stage.prod")
		require.False(t, has && time.Now().Before(reports.Add(soak)), "seed %d: prod before dev's soak", seed)
		require.False(t, hasProd && !has, "seed %d: prod lost what it had", seed)
		hasProd = has
	}
	require.True(t, h.holds("Succeeded"), "seed %d: %v", seed, h.status.Conditions)
	before := h.version()
	time.Sleep(5 * time.Minute)
	require.Equal(t, before, h.version(), "seed %d: the player still writes", seed)
	stop()
	asked := time.Now()
	require.LessOrEqual(t, (<-ended).Sub(asked), time.Second, "seed %d", seed)
}
