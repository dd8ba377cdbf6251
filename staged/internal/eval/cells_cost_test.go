package eval_test

import (
	"fmt"
	"testing"

	"github.com/google/cel-go/common/types"
	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/cel"
	"github.com/stagecraft-go/stagecraft/internal/dev/work"
	"github.com/stagecraft-go/stagecraft/staged/internal/eval"
)

// TestLookingForACellIsPaid looks for a column that no collector has, in a loop.
func TestLookingForACellIsPaid(t *testing.T) {
	var names, results []any
	for i := range 20_000 {
		names = append(names, fmt.Sprintf("column-%d", i))
	}
	results = append(results, map[string]any{"name": "c", "columnNames": names})
	c, err := eval.NewCompiler(eval.Options{Variables: map[string]*types.Type{"obj": types.DynType}, Cells: true})
	require.NoError(t, err)
	p, err := c.Compile(`obj.results[0].columnNames.exists(x, num("none") == 1.0)`)
	require.NoError(t, err)
	spent := work.Measure(1, func() { _, err = p.Eval(map[string]any{"obj": map[string]any{"results": results}}) })
	require.ErrorIs(t, err, cel.ErrCost)
	t.Logf("%v, %d KiB", spent.Time, spent.Bytes>>10)
	require.Less(t, spent.Bytes, uint64(64<<20))
}
