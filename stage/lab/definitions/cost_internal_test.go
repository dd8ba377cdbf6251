package definitions

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPatternsOfAProcessHaveALimit: what was compiled once costs nothing, and what is refused is not counted.
func TestPatternsOfAProcessHaveALimit(t *testing.T) {
	p := patterns{limit: 100}
	require.True(t, p.add(map[string]int{"a": 40, "b": 40}))
	require.True(t, p.add(map[string]int{"a": 40, "b": 40}))
	require.False(t, p.add(map[string]int{"c": 15, "d": 6}))
	require.True(t, p.add(map[string]int{"a": 40, "c": 20}))
	require.False(t, p.add(map[string]int{"e": 1}))
	require.Equal(t, 100, p.states)
}
