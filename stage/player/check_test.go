package player_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

// TestAPlayerThatCannotWorkSaysSo checks that what no retry can help is told at once, all of it.
func TestAPlayerThatCannotWorkSaysSo(t *testing.T) {
	err := player.Play(t.Context(), nil, nil, player.Options{Select: map[schema.GroupVersionKind]player.Selection{
		{Version: "v1", Kind: "Pod"}:  {Labels: "a=b=c", Fields: "x"},
		{Version: "v1", Kind: "Node"}: {Labels: "a in b"},
	}})
	for _, text := range []string{"player: no transport", "player: no Set", "Options.Select of v1 Node: labels: ", "Options.Select of v1 Pod: labels: ", "Options.Select of v1 Pod: fields: "} {
		require.ErrorContains(t, err, text)
	}

	set := stage.MustCompile(presets.PodFast())
	require.EqualError(t, player.Play(t.Context(), set, memory.New(memory.Options{}), player.Options{Workers: -1}), "player: Options.Workers is -1")

	p := player.New(set, memory.New(memory.Options{}), player.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, p.Run(ctx), context.DeadlineExceeded)
	require.EqualError(t, p.Run(t.Context()), "player: Run was called before: a Player may be run once")
}
