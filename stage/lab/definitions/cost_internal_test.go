package definitions

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPatternsOfAProcessHaveALimit: what was compiled once costs nothing, what is refused is not counted, and
// usual definitions are accepted still.
func TestPatternsOfAProcessHaveALimit(t *testing.T) {
	p := patterns{limit: 10_000}
	require.True(t, p.add(map[string]int{"a": 4000, "b": 4000}))
	require.True(t, p.add(map[string]int{"a": 4000, "b": 4000}))
	require.False(t, p.add(map[string]int{"c": 1500, "d": 600}))
	require.True(t, p.add(map[string]int{"a": 4000, "c": 2000}))
	require.False(t, p.add(map[string]int{"e": usualStates, "f": 1}))
	require.Equal(t, 10_000, p.states)
	require.True(t, p.add(map[string]int{"a": 4000, "g": usualStates}))
	require.Equal(t, 10_000+usualStates, p.states)
}
