package staged_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/staged"
)

// Comparing NaN, as AVG of nothing is, by order is an error, as in KubeStellar: not true, and not
// false, so that its negation is not true either.
func TestNaNCannotBeOrdered(t *testing.T) {
	obj := func(v string) map[string]any {
		return map[string]any{"obj": map[string]any{"results": []any{map[string]any{"name": "agg", "columnNames": []any{"avg"},
			"rows": []any{map[string]any{"columns": []any{map[string]any{"type": "Number", "float": v}}}}}}}}
	}
	for _, source := range []string{"num('avg') < 1", "num('avg') >= 1", "!(num('avg') < 1)", "1 > num('avg')", "num('avg') <= num('avg')", "cell('agg', 'avg') < 1.0", "double('NaN') < 1.0", "double(obj.results[0].rows[0].columns[0].float) >= 1.0"} {
		e, err := staged.CompileCondition(source)
		require.NoError(t, err, source)
		_, err = e.Eval(obj("NaN"))
		require.ErrorContains(t, err, "NaN", source)
		_, err = e.Eval(obj("1"))
		if source != "double('NaN') < 1.0" {
			require.NoError(t, err, source)
		}
	}
	e, err := staged.CompileCondition("num('avg') == num('avg')")
	require.NoError(t, err)
	ok, err := e.Eval(obj("NaN"))
	require.NoError(t, err)
	require.False(t, ok)
}
