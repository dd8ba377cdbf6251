package eval

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/cel-go/common/types"
	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/cel"
)

// writer writes random conditions and CombinedStatuses.
type writer struct{ *rand.Rand }

func pick[T any](w writer, of ...T) T { return of[w.IntN(len(of))] }

// truth is an expression that is true or false, if all goes well; variables are those of macros.
func (w writer) truth(depth int, variables ...string) string {
	if depth == 0 {
		return w.scalar(variables) + pick(w, " == ", " != ", " < ", " <= ", " > ", " >= ") + w.scalar(variables)
	}
	within := func() string { return w.truth(depth-1, variables...) }
	switch w.IntN(7) {
	case 0, 1:
		return "(" + within() + pick(w, " && ", " || ") + within() + ")"
	case 2:
		return "!(" + within() + ")"
	case 3:
		return "has(" + w.list(variables) + ")"
	case 4:
		v := string(rune('a' + len(variables)))
		return w.list(variables) + pick(w, ".exists(", ".all(", ".exists(", ".exists_one(") + v + ", " + w.truth(depth-1, append(slices.Clip(variables), v)...) + ")"
	case 5:
		return within() + " ? " + within() + " : " + within()
	}
	return within()
}

func (w writer) list(variables []string) string {
	if len(variables) == 0 {
		return pick(w, "obj.results", "combinedStatus.results", "obj.gone", "obj.results")
	}
	return pick(w, variables...) + pick(w, ".rows", ".columns", ".name")
}

func (w writer) scalar(variables []string) string {
	if len(variables) > 0 && w.IntN(2) == 0 {
		return pick(w, variables...) + pick(w, ".name", ".type", ".float", ".n", ".f", "")
	}
	return pick(w, "'agg'", "'1'", "1", "2.0", "true", "obj.n", "obj.f", "obj.name", "obj.gone", "num('sum')", "num('gone')", "cell('agg', 'sum')", "reported", "null", "num('sum') + 1")
}

func (w writer) object() map[string]any {
	cell := func() any {
		return pick[any](w, map[string]any{"type": "Number", "float": pick(w, "1", "2", "NaN", "x")}, map[string]any{"type": "String", "string": "agg"}, "odd", nil)
	}
	table := func() any {
		row := map[string]any{"columns": []any{cell(), cell()}, "n": int64(w.IntN(3))}
		return map[string]any{"name": pick[any](w, "agg", "b", nil), "columnNames": []any{"sum", "other"}, "rows": pick(w, []any{row}, []any{row, row}, nil), "f": 1.5}
	}
	o := map[string]any{"n": pick[any](w, int64(1), 1.0, "1", nil), "f": pick[any](w, 2.0, int64(2)), "name": pick[any](w, "agg", true)}
	o["results"] = pick[any](w, []any{table()}, []any{table(), table()}, []any{}, map[string]any{"k": table()}, "none")
	return o
}

// What is decided natively is decided as cel-go does, and often enough.
func TestNativeIsCEL(t *testing.T) {
	c, err := NewCompiler(Options{Cells: true, Variables: map[string]*types.Type{"obj": types.DynType, "combinedStatus": types.DynType, "reported": types.IntType}})
	require.NoError(t, err)
	known, yes, compiled := 0, 0, 0
	for seed := range uint64(2000) {
		w := writer{rand.New(rand.NewPCG(seed, 7))}
		source := w.truth(w.IntN(5))
		p, err := c.Bool(source)
		if err != nil {
			continue // such as 'agg' < 1
		}
		compiled++
		for range 5 {
			variables := map[string]any{"obj": w.object(), "reported": int64(w.IntN(3))}
			native, failure := p.Native(activation(variables), new(cel.Frame))
			if failure == cel.ErrUnsure {
				continue
			}
			known++
			v, err := p.Eval(variables)
			require.Equal(t, fmt.Sprint(failure), fmt.Sprint(err), "%s of %v", source, variables)
			if err == nil {
				require.Equal(t, fmt.Sprint(native), fmt.Sprint(v.Value()), "%s of %v", source, variables)
			}
			if native == true {
				yes++
			}
		}
	}
	t.Logf("%d expressions, %d results, %d of them true", compiled, known, yes)
	require.Greater(t, known, 1000)
	require.Greater(t, yes, known/10)
}

// The condition of the workload stager's document, and what stands for it in ours, need no cel-go.
func TestCommonConditionsAreNative(t *testing.T) {
	c, err := NewCompiler(Options{Cells: true, Variables: map[string]*types.Type{"obj": types.DynType, "combinedStatus": types.DynType, "reported": types.IntType}})
	require.NoError(t, err)
	obj := map[string]any{"results": []any{map[string]any{"name": "agg", "columnNames": []any{"sum"},
		"rows": []any{map[string]any{"columns": []any{map[string]any{"type": "Number", "float": "1"}}}}}}}
	for _, source := range []string{
		`obj.results.exists(r, r.name == 'agg' && r.rows.exists(row, row.columns.exists(col, col.type == 'Number' && col.float == '1')))`,
		`combinedStatus.results.all(r, has(r.rows) && r.name != '')`, `num('sum') >= 1`, `num('sum') == 1 && cell('agg', 'sum') == 1.0`, `reported > 2 || !(reported == 0)`,
	} {
		p, err := c.Bool(source)
		require.NoError(t, err)
		result, err := p.Native(activation{"obj": obj, "reported": int64(3)}, new(cel.Frame))
		require.NoError(t, err, source)
		require.Equal(t, true, result, source)
	}
}
