package cel

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
)

// celGrammar writes random expressions about an object that has the fields that they name.
type celGrammar struct{ *rand.Rand }

func (g celGrammar) of(list ...string) string { return list[g.IntN(len(list))] }

func (g celGrammar) path() string {
	return g.of("self", "self.a", "self.b", "self.a.b", "self.l", "self.l[0]", "self.l[1].a", `self["a"]`, "self.none", "self.n", "self.f", "self.s", "x")
}

func (g celGrammar) value(depth int) string {
	if depth <= 0 {
		return g.of(g.path(), g.path(), "1", "1.0", `"a"`, "true", "null", "[]", "{}", `{"a": 1}`, "[1, 2]")
	}
	a, b := g.value(depth-1), g.value(depth-1)
	switch g.IntN(9) {
	case 0:
		return "(" + a + g.of(" == ", " != ", " < ", " >= ", " + ", " - ", " * ", " in ") + b + ")"
	case 1:
		return "(" + a + g.of(" && ", " || ") + b + ")"
	case 2:
		return "!(" + a + ")"
	case 3:
		return g.path() + g.of(".exists", ".all", ".exists_one", ".filter") + "(x, " + a + ")"
	case 4:
		return g.path() + ".map(x, " + a + ")"
	case 5:
		return g.of("size(", "string(", "int(", "double(", "type(", "dyn(") + a + ")"
	case 6:
		return "(" + a + ")" + g.of(`.startsWith("a")`, `.contains("a")`, `.endsWith("b")`, `.matches("a+")`, ".size()", ".a", "[0]", `["a"]`)
	case 7:
		return "(" + g.value(depth-1) + " ? " + a + " : " + b + ")"
	}
	return g.of("["+a+", "+b+"]", `{"a": `+a+`, "b": `+b+"}", "has(self.a)", "has(self.a.none)")
}

func (g celGrammar) object(depth int) any {
	switch {
	case depth > 0 && g.IntN(3) == 0:
		return map[string]any{"a": g.object(depth - 1), "b": g.object(depth - 1), "l": g.object(depth - 1)}
	case depth > 0 && g.IntN(2) == 0:
		return []any{g.object(depth - 1), g.object(depth - 1)}
	}
	return [...]any{nil, true, false, int64(0), int64(1), 1.0, 1.5, "", "a", "ab"}[g.IntN(10)]
}

// FuzzReference compares evaluations with plain cel-go's, which uses its own lists and maps.
func FuzzReference(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	plain, err := cel.NewEnv(cel.Variable("self", cel.DynType), cel.Variable("x", cel.DynType))
	require.NoError(f, err)
	ours := testCompiler(f, Options{Variables: map[string]*types.Type{"x": types.DynType}})
	f.Fuzz(func(t *testing.T, seed uint64) { requireReference(t, plain, ours, seed) })
}

func TestEvaluatesAsReference(t *testing.T) {
	plain, err := cel.NewEnv(cel.Variable("self", cel.DynType), cel.Variable("x", cel.DynType))
	require.NoError(t, err)
	ours := testCompiler(t, Options{Variables: map[string]*types.Type{"x": types.DynType}})
	values := 0
	for seed := range uint64(effort.Of(3000)) {
		if requireReference(t, plain, ours, seed) {
			values++
		}
	}
	require.Greater(t, values, effort.Of(100))
}

// calls are the calls that the grammar does not produce: other types, optionals, indices, errors.
var calls = []string{
	`timestamp("2026-11-20T12:00:00Z").getHours("+02:00")`, `timestamp("2026-11-20T12:00:00Z").getHours()`, `duration("90m").getMinutes()`,
	`duration("90m") + timestamp("2026-11-20T12:00:00Z")`, `timestamp(self.ts).getFullYear()`, `timestamp(self.ts).getDayOfWeek("Asia/Shanghai")`,
	`timestamp(self.ts) > timestamp("2020-01-01T00:00:00Z")`, `b"abc" + b"d"`, `size(b"abc")`, `"a" in {"a": 1}`, `1 in [1,2]`, `1u + 2u`, `-self.n`, `-self.f`,
	`self.?a.?b.orValue(3)`, `self.?none.orValue(3)`, `self.?none.hasValue()`, `[?self.?none, 1]`, `{?"a": self.?none}`, `optional.of(1).or(optional.of(2)).value()`,
	`self.l.exists_one(x, x == 1)`, `self.l.map(x, x > 0, x * 2)`, `type(self.a)`, `type(self.l) == list`, `self.n % 2`, `self.n / 0`, `self.s.matches("^a+b$")`, `self.s.matches("(")`,
	`self.s < "b"`, `self.n < 3.5`, `bool("true")`, `bytes("abc")`, `string(b"abc")`, `int("12")`, `uint(3)`, `int(timestamp(self.ts))`, `string(duration("1s"))`, `dyn(1) == 1.0`,
	`has(self.a) ? self.a : 1`, `self[x]`, `self.l[0] + self.l[1]`, `self.m == {"k": [1, 2]}`, `{"k": [1, 2]} == self.m`, `[self.m] == [{"k": [1.0, 2.0]}]`, `self.m in [self.m]`, `self.l == [1, 2]`, `self.l + [3]`,
	`"k" in self.m`, `1 in self.m`, `self.m[1]`, `self.l["a"]`, `self.l[5]`, `self.l[1.0]`, `self.s.size() + size(self.l) + size(self.m)`,
}

func TestCallsAsReference(t *testing.T) {
	plain, err := cel.NewEnv(cel.Variable("self", cel.DynType), cel.Variable("x", cel.DynType), cel.OptionalTypes())
	require.NoError(t, err)
	ours := testCompiler(t, Options{Variables: map[string]*types.Type{"x": types.DynType}, Library: []cel.EnvOption{cel.OptionalTypes()}})
	obj := variables{
		"ts": "2026-11-20T12:00:00Z", "n": int64(3), "f": 1.5, "l": []any{int64(1), int64(2)}, "s": "aab",
		"m": map[string]any{"k": []any{int64(1), int64(2)}}, "a": map[string]any{"b": "c"},
	}
	for _, source := range calls {
		requireSame(t, plain, ours, source, obj)
	}
}

// requireReference reports whether an expression had a value.
func requireReference(t *testing.T, plain *cel.Env, ours *Compiler, seed uint64) bool {
	g := celGrammar{rand.New(rand.NewPCG(seed, 7))}
	source, obj := g.value(3), map[string]any{
		"a": g.object(3), "b": g.object(3), "l": []any{g.object(2), map[string]any{"a": g.object(1)}}, "n": int64(3), "f": 2.5, "s": "aab",
	}
	return requireSame(t, plain, ours, source, obj)
}

// requireSame compares all that can be seen of an expression.
func requireSame(t *testing.T, plain *cel.Env, ours *Compiler, source string, obj map[string]any) bool {
	var program cel.Program
	checked, issues := plain.Compile(source)
	faults := issues.Err()
	if faults == nil {
		program, faults = plain.Program(checked, cel.EvalOptions(cel.OptOptimize))
	}
	p, err := ours.Compile(source)
	require.Equal(t, faults == nil, err == nil, "%s: %v, %v", source, faults, err)
	if err != nil {
		return false
	}
	want, _, wantErr := program.Eval(map[string]any{"self": obj, "x": int64(1)})
	got, err := p.Eval(two{variables(obj)})
	if wantErr != nil {
		require.Error(t, err, "%s on %v", source, obj)
		return false
	}
	require.NoError(t, err, "%s on %v", source, obj)
	require.Equal(t, want.Type().TypeName(), got.Type().TypeName(), source)
	require.Equal(t, printed(want), printed(got), "%s on %v", source, obj)
	return true
}

// two has self and x.
type two struct{ variables }

func (v two) ResolveName(name string) (any, bool) {
	if name == "x" {
		return int64(1), true
	}
	return v.variables.ResolveName(name)
}

// printed is a value as Go prints it, which sorts the keys of maps.
func printed(v ref.Val) string {
	switch x := v.(type) {
	case types.Null, *types.Type:
		return fmt.Sprint(x.Value())
	}
	return fmt.Sprint(jsonOf(v))
}

func jsonOf(v ref.Val) any {
	switch x := v.(type) {
	case traits.Mapper:
		out := map[string]any{}
		for it := x.Iterator(); it.HasNext() == types.True; {
			k := it.Next()
			e, _ := x.Find(k)
			out[fmt.Sprint(k.Value())] = jsonOf(e)
		}
		return out
	case traits.Lister:
		out := []any{}
		for it := x.Iterator(); it.HasNext() == types.True; {
			out = append(out, jsonOf(it.Next()))
		}
		return out
	}
	return v.Value()
}
