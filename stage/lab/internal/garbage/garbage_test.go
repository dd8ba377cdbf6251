package garbage_test

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/garbage"
)

func percent() int {
	now := debug.SetGCPercent(100)
	debug.SetGCPercent(now)
	return now
}

func TestTheLastUserRestores(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	before := percent()
	first, second := garbage.CollectLess(), garbage.CollectLess()
	require.Equal(t, 400, percent())
	first()
	first()
	require.Equal(t, 400, percent())
	second()
	require.Equal(t, before, percent())
	t.Setenv("GOGC", "50")
	defer garbage.CollectLess()()
	require.Equal(t, before, percent())
}
