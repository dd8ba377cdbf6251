package eval_test

import (
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/staged/internal/eval"
)

func compiler(t testing.TB, cost uint64) *eval.Compiler {
	t.Helper()
	c, err := eval.NewCompiler(eval.Options{Variables: map[string]*cel.Type{"obj": cel.DynType, "combinedStatus": cel.DynType, "x": cel.DynType}, Cells: true, Cost: cost})
	require.NoError(t, err)
	return c
}

func TestVariablesAndCollectors(t *testing.T) {
	for _, tc := range []struct {
		source                string
		variables, collectors []string
	}{
		{"obj.x == 1", []string{"obj"}, []string{}},
		{"'obj' == x.obj", []string{"x"}, []string{}},
		{"[1].exists(obj, obj == x)", []string{"x"}, []string{}},
		{"[1].exists(v, v == obj.n) && x", []string{"obj", "x"}, []string{}},
		{"num('sum') > 1", []string{"obj"}, []string{}},
		{"cell('ready', 'sum') > 1 && cell('all', 'sum') > 1", []string{"obj"}, []string{"ready", "all"}},
		{"obj.results.exists(r, r.name == 'a' || 'b' == r.name)", []string{"obj"}, []string{"a", "b"}},
		{"combinedStatus.results.filter(r, r.name == 'a')[0].rows.size() > 0", []string{"combinedStatus"}, []string{"a"}},
		{"obj.metadata.name == 'a' || x.all(c, c.name == 'b')", []string{"obj", "x"}, []string{}},
		{"{'a': obj}['a'] == x && [obj, x][0] == 1", []string{"obj", "x"}, []string{}},
	} {
		t.Run(tc.source, func(t *testing.T) {
			p, err := compiler(t, 0).Bool(tc.source)
			require.NoError(t, err)
			require.Equal(t, tc.variables, p.Variables())
			names := []string{}
			for _, m := range p.Collectors() {
				require.Equal(t, m.Text, tc.source[m.Offset+1:][:len(m.Text)])
				names = append(names, m.Text)
			}
			require.Equal(t, tc.collectors, names)
		})
	}
}

func TestFaultsStandAtTheirTokens(t *testing.T) {
	for source, want := range map[string]struct {
		offset int
		text   string
	}{
		"":                      {0, "empty"},
		"1 + 1":                 {0, "the result is int, not bool"},
		"obj.a &&\n  'ü' == no": {len("obj.a &&\n  'ü' == "), "undeclared reference to 'no'"},
		"obj.a == )":            {len("obj.a == "), "Syntax error"},
	} {
		_, err := compiler(t, 0).Bool(source)
		faults := position.All(err)
		require.Len(t, faults, 1, source)
		require.Equal(t, want.offset, faults[0].Offset, source)
		require.ErrorContains(t, faults[0], want.text)
	}
}

func TestWorkIsLimited(t *testing.T) {
	list := make([]any, 300)
	for i := range list {
		list[i] = int64(i)
	}
	variables := map[string]any{"obj": map[string]any{"l": list}, "x": list}
	for name, tc := range map[string]struct {
		source, fault string
	}{
		"loops over the same list":   {"x.all(a, x.all(b, x.all(c, a + b + c >= 0)))", "cost limit"},
		"a loop over what it is in":  {"obj.l.all(a, obj.l.all(b, obj.l.all(c, a + b + c >= 0)))", "cost limit"},
		"a list that doubles":        {"[[1]]" + strings.Repeat(".map(a, a + a)", 40) + ".size() == 1", "larger than"},
		"a text that doubles":        {"['x']" + strings.Repeat(".map(a, a + a)", 40) + ".size() == 1", "limit"},
		"a list in lists in lists":   {"[1]" + strings.Repeat(".map(a, [a, a])", 40) + ".size() == 1", "larger than"},
		"a loop over each item once": {"x.all(a, a >= 0)", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := compiler(t, 0).Bool(tc.source)
			require.NoError(t, err)
			_, err = p.Bool(variables)
			if tc.fault == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.fault)
		})
	}
}

func TestMapsAreIteratedInOrder(t *testing.T) {
	p, err := compiler(t, 0).Compile("x.map(k, k)")
	require.NoError(t, err)
	for range 20 {
		v, err := p.Eval(map[string]any{"x": map[string]any{"c": 1, "a": 2, "b": 3}})
		require.NoError(t, err)
		require.Equal(t, []any{"a", "b", "c"}, v.Plain())
	}
}

func TestCells(t *testing.T) {
	cell := func(kind, field string, v any) any {
		return map[string]any{"columns": []any{map[string]any{"type": kind, field: v}}}
	}
	table := func(name string, rows ...any) any {
		return map[string]any{"name": name, "columnNames": []any{"v"}, "rows": rows}
	}
	for name, tc := range map[string]struct {
		source, fault string
		results       []any
	}{
		"a number":                  {"num('v') == 2 && num('v') >= 1.5", "", []any{table("a", cell("Number", "float", "2"))}},
		"infinity is a number":      {"num('v') > 1e9", "", []any{table("a", cell("Number", "float", "+Inf"))}},
		"a text":                    {"cell('a', 'v') == 'x'", "", []any{table("a", cell("String", "string", "x"))}},
		"an object":                 {"cell('a', 'v').k == 1", "", []any{table("a", cell("Object", "object", map[string]any{"k": int64(1)}))}},
		"a text is no number":       {"num('v') == 2", "no number", []any{table("a", cell("String", "string", "2"))}},
		"no such column":            {"num('w') == 2", "no collector has a column w, only v", []any{table("a", cell("Number", "float", "2"))}},
		"two tables have it":        {"num('v') == 2", "2 collectors have a column v: name one with cell", []any{table("a"), table("b")}},
		"one of two tables":         {"cell('b', 'v') == 3", "", []any{table("a"), table("b", cell("Number", "float", "3"))}},
		"a table with several rows": {"num('v') == 2", "2 rows", []any{table("a", cell("Number", "float", "1"), cell("Number", "float", "2"))}},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := compiler(t, 0).Bool(tc.source)
			require.NoError(t, err)
			ok, err := p.Bool(map[string]any{"obj": map[string]any{"results": tc.results}})
			if tc.fault != "" {
				require.ErrorContains(t, err, tc.fault)
				return
			}
			require.NoError(t, err)
			require.True(t, ok)
		})
	}
}

// The condition of the workload stager's document, and what stands for it in ours.
func TestCommonConditions(t *testing.T) {
	obj := map[string]any{"results": []any{map[string]any{"name": "agg", "columnNames": []any{"sum"},
		"rows": []any{map[string]any{"columns": []any{map[string]any{"type": "Number", "float": "1"}}}}}}}
	for _, source := range []string{
		`obj.results.exists(r, r.name == 'agg' && r.rows.exists(row, row.columns.exists(col, col.type == 'Number' && col.float == '1')))`,
		`combinedStatus.results.all(r, has(r.rows) && r.name != '')`, `num('sum') >= 1`, `num('sum') == 1 && cell('agg', 'sum') == 1.0`, `x > 2 || !(x == 0)`,
	} {
		p, err := compiler(t, 0).Bool(source)
		require.NoError(t, err)
		ok, err := p.Bool(map[string]any{"obj": obj, "x": int64(3)})
		require.NoError(t, err, source)
		require.True(t, ok, source)
	}
}

// num is a double that integers may be mixed with, whatever they are.
func TestNumbersMix(t *testing.T) {
	c, err := eval.NewCompiler(eval.Options{Cells: true, Variables: map[string]*cel.Type{"obj": cel.DynType, "reported": cel.IntType, "names": cel.ListType(cel.StringType)}})
	require.NoError(t, err)
	cell := func(v string) any { return map[string]any{"type": "Number", "float": v} }
	variables := map[string]any{"reported": 3, "names": []string{"a", "b", "c"}, "obj": map[string]any{"n": int64(3), "results": []any{map[string]any{
		"name": "a", "columnNames": []any{"three", "four"}, "rows": []any{map[string]any{"columns": []any{cell("3"), cell("4")}}}}}}}
	for _, source := range []string{
		"num('three') == 3", "3 == num('three')", "num('three') != 4", "num('three') == 3.0", "num('three') == 3u",
		"num('four') >= num('three') + 1", "num('four') == 1 + num('three')", "num('four') - 1 == num('three')", "num('four') * 2 == 8.0", "num('three') / 2 == 1.5",
		"num('three') + 1 * 2 == 5", "(num('three') + 1) + 2 == 6", "-num('three') == -3", "num('three') == reported", "num('four') > reported", "reported + 1 == num('four')",
		"num('three') == size(names)", "num('three') == names.size()", "num('four') - reported == 1", "num('four') / (reported - 1) == 2", "num('three') == int('3')",
		"num('three') in [1, 3]", "3 in [num('three')]", "!(num('three') in [1, 2])", "(true ? num('three') : 0) == 3", "(false ? 0 : 3) == num('three')",
		"num('three') >= obj.n", "num('three') == obj.n", "[num('three')].all(n, n > 2)", "cell('a', 'three') == 3", "cell('a', 'three') + 1 == num('four')", "cell('a', 'four') / 8 >= 0.5", "double(num('three')) == 3.0",
		"['three', 'four'].all(c, num(c) >= 3)",
	} {
		p, err := c.Bool(source)
		require.NoError(t, err, source)
		ok, err := p.Bool(variables)
		require.NoError(t, err, source)
		require.True(t, ok, source)
		require.Equal(t, source, p.Source())
	}
	for source, want := range map[string]struct {
		at   string // the fault stands before it
		text string
	}{
		"num('sum') == 'a'":                     {"== 'a'", "'_==_' applied to '(double, string)'"},
		"'a' != num('sum')":                     {"!= num", "'_!=_' applied to '(string, double)'"},
		"reported > 1 &&\n  num('sum') && true": {"('sum') &&", "expected type 'bool' but found 'double'"},
		"num('sum')":                            {"num", "the result is double, not bool"},
		"!num('sum')":                           {"!num", "'!_' applied to '(double)'"},
		"num('sum') + 'a' == 1":                 {"+ 'a'", "'_+_' applied to '(double, string)'"},
		"num('sum') in ['a']":                   {"in [", "'@in' applied to '(double, list(string))'"},
		"num('sum') > duration('1s')":           {"> dur", "'_>_' applied to '(double, "},
		"num('sum').startsWith('a')":            {"('a')", "'startsWith' applied to 'double.(string)'"},
		"num(1) == 1":                           {"(1)", "'@num' applied to '(dyn, int)'"},
	} {
		_, err := c.Bool(source)
		faults := position.All(err)
		require.NotEmpty(t, faults, source)
		require.ErrorContains(t, faults[0], want.text)
		require.Equal(t, want.at, source[faults[0].Offset:][:min(len(want.at), len(source)-faults[0].Offset)], "%s: %v", source, err)
	}
}

// The condition of the workload stager's document: what it costs to compile it, and to evaluate it.
func BenchmarkCondition(b *testing.B) {
	const source = `obj.results.exists(r, r.name == 'agg' && r.rows.exists(row, row.columns.exists(col, col.type == 'Number' && col.float == '1')))`
	obj := map[string]any{"results": []any{map[string]any{"name": "agg", "columnNames": []any{"sum"},
		"rows": []any{map[string]any{"columns": []any{map[string]any{"type": "Number", "float": "1"}}}}}}}
	c := compiler(b, 0)
	b.Run("compile", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.Compile(source); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("evaluate", func(b *testing.B) {
		p, err := c.Compile(source)
		require.NoError(b, err)
		b.ReportAllocs()
		for b.Loop() {
			if ok, err := p.Bool(map[string]any{"obj": obj}); err != nil || !ok {
				b.Fatal(ok, err)
			}
		}
	})
}
