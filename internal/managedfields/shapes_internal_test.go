package managedfields

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestShapesAreSmall: what is remembered of an object are its fields, and none of a large object.
func TestShapesAreSmall(t *testing.T) {
	s, fields := newShapes(), map[string]any{"f:data": map[string]any{}}
	wide := map[string]any{}
	for i := range 10_000 {
		wide[fmt.Sprint("member", i)] = int64(i)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range 1000 {
		s.add(map[string]any{fmt.Sprint("name", i): strings.Repeat("x", 1<<20)}, false, fields)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Less(t, after.HeapAlloc, before.HeapAlloc+1<<20)
	require.NotNil(t, s.find(map[string]any{"name999": "of another"}, false))
	s.add(wide, false, fields)
	require.Nil(t, s.find(wide, false))
	s.add(map[string]any{"list": []any{strings.Repeat("x", 1<<20)}}, false, fields)
	require.Nil(t, s.find(map[string]any{"list": []any{strings.Repeat("x", 1<<20)}}, false))
}
