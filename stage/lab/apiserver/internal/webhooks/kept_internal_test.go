package webhooks

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhatWebhooksAreMadeOfIsBounded: by number and by size, and the newest is always kept.
func TestWhatWebhooksAreMadeOfIsBounded(t *testing.T) {
	k := kept[int]{}
	for i := range 10_000 {
		k.put(fmt.Sprint(i), i, 1)
		require.LessOrEqual(t, len(k.of), mostKept)
		require.Contains(t, k.of, fmt.Sprint(i))
	}
	for i := range 100 {
		k.put(fmt.Sprint(i), i, mostBytes/4)
		require.LessOrEqual(t, k.bytes, mostBytes)
	}
	k.put("large", 1, 2*mostBytes)
	require.Len(t, k.of, 1)
	k.put("another", 1, 1)
	require.NotContains(t, k.of, "large")
	require.InDelta(t, 1<<20, sizeOf(map[string]any{"a": []any{string(make([]byte, 1<<20))}}), 1000)
}
