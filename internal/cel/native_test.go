package cel

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/stretchr/testify/require"
)

// celTexts generates CEL expressions of the kind that Stages have, sound and not.
type celTexts struct {
	*rand.Rand
	bound []string // variables of the macros around
}

func (g celTexts) pick(of ...string) string { return of[g.IntN(len(of))] }

func (g celTexts) path() string {
	parts := []string{g.pick(append(g.bound, "self")...)}
	for range g.IntN(4) {
		switch g.IntN(5) {
		case 0:
			parts = append(parts, fmt.Sprintf("[%s]", g.pick(`"a"`, `"b"`, "0", "1", "-1", "self.a")))
		default:
			parts = append(parts, "."+g.pick("a", "b", "c", "list", "n"))
		}
	}
	return strings.Join(parts, "")
}

func (g celTexts) literal() string {
	return g.pick(`"a"`, `"b"`, `""`, `'ü'`, "0", "1", "-1", "1.0", "2.5", "true", "false", "null", "1u")
}

func (g celTexts) expression(depth int) string {
	if depth == 0 {
		return g.pick(g.path(), g.path(), g.literal())
	}
	sub := func() string { return g.expression(depth - 1 - g.IntN(depth)) }
	switch g.IntN(15) {
	case 12, 13:
		return g.macro(depth)
	case 14:
		return fmt.Sprintf("%s.matches(%s)", g.path(), g.pick(`"a"`, `"^a|b$"`, `"("`, `""`, "self.a"))
	case 0, 1:
		return fmt.Sprintf("(%s && %s)", sub(), sub())
	case 2:
		return fmt.Sprintf("(%s || %s)", sub(), sub())
	case 3:
		return "!(" + sub() + ")"
	case 4:
		return fmt.Sprintf("has(%s.%s)", g.path(), g.pick("a", "b", "c"))
	case 5:
		return fmt.Sprintf("(%s in [%s, %s])", sub(), g.literal(), g.literal())
	case 6:
		return fmt.Sprintf("(%s in %s)", sub(), g.path())
	case 7:
		return fmt.Sprintf("size(%s)", sub())
	case 8:
		return fmt.Sprintf("%s.%s(%s)", g.path(), g.pick("startsWith", "endsWith", "contains"), sub())
	case 9:
		return fmt.Sprintf("(%s ? %s : %s)", sub(), sub(), sub())
	}
	return fmt.Sprintf("(%s %s %s)", sub(), g.pick("==", "!=", "<", "<=", ">", ">="), sub())
}

// macro is of any kind, seldom one that only cel-go knows, and may hide a variable.
func (g celTexts) macro(depth int) string {
	name := g.pick("x", "y", "self")
	inner := g
	inner.bound = append([]string{name}, g.bound...)
	return fmt.Sprintf("%s.%s(%s, %s)", g.path(), g.pick("exists", "exists", "all", "all", "all", "exists_one", "filter"), name, inner.expression(depth-1))
}

func (g celTexts) object(depth int) any {
	if depth > 0 {
		switch g.IntN(5) {
		case 0:
			list := []any{}
			for range g.IntN(4) {
				list = append(list, g.object(depth-1))
			}
			return list
		case 1, 2, 3:
			m := map[string]any{}
			for range g.IntN(4) {
				m[g.pick("a", "b", "c", "list", "n")] = g.object(depth - 1)
			}
			return m
		}
	}
	values := []any{"a", "b", "", "ü", int64(0), int64(1), int64(2), 1.0, 2.5, true, false, nil, int32(1), json.Number("1"), []string{"a"}, map[string]string{"a": "b"}}
	return values[g.IntN(len(values))]
}

// variables are the fields of the variable self.
type variables map[string]any

func (o variables) Parent() cel.Activation { return nil }

func (o variables) ResolveName(name string) (any, bool) { return map[string]any(o), name == "self" }

func testCompiler(t testing.TB, o Options) *Compiler {
	o.Variables = map[string]*types.Type{"self": types.DynType}
	c, err := NewCompiler(o)
	require.NoError(t, err)
	return c
}

// FuzzNativeCEL holds native evaluation to cel-go's on generated expressions and objects: results,
// and the texts of errors.
func FuzzNativeCEL(f *testing.F) {
	compiler := testCompiler(f, Options{})
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		requireNativeIsCEL(t, compiler, celTexts{Rand: rand.New(rand.NewPCG(seed, 0))})
	})
}

func TestNativeIsCEL(t *testing.T) {
	compiler, native := testCompiler(t, Options{}), [3]int{}
	for seed := range uint64(20000) {
		rank, decided := requireNativeIsCEL(t, compiler, celTexts{Rand: rand.New(rand.NewPCG(seed, 1))})
		native[rank] += decided
	}
	require.Greater(t, native[0], 5000, "most decisions are native, or this compares nothing")
	require.Greater(t, native[1], 100)
}

func requireNativeIsCEL(t *testing.T, compiler *Compiler, g celTexts) (rank, decided int) {
	text := g.expression(1 + g.IntN(3))
	p, err := compiler.Compile(text)
	if err != nil || p.native == nil {
		return 0, 0
	}
	for range 4 {
		obj, _ := g.object(4).(map[string]any)
		root := variables(obj)
		got, err := p.Native(root, new(Frame))
		if err == ErrUnsure {
			continue
		}
		decided++
		requireCostIsCovered(t, p, root)
		out, wantErr := p.Eval(root)
		if err != nil {
			require.EqualError(t, wantErr, err.Error(), "%s on %v", text, root)
		} else {
			require.NoError(t, wantErr, "%s on %v", text, root)
			require.Equal(t, compiler.env.CELTypeAdapter().NativeToValue(got).Equal(out), types.True, "%s on %v: %v, not %v", text, root, got, out)
			require.Equal(t, compiler.env.CELTypeAdapter().NativeToValue(got).Type(), out.Type(), "%s on %v", text, root)
		}
		requireSameBool(t, p, root)
	}
	return p.Rank(), decided
}

func requireSameBool(t *testing.T, p *Program, root variables) {
	slow := *p
	slow.native = nil
	want, wantErr := slow.Bool(root, new(Frame))
	got, err := p.Bool(root, new(Frame))
	require.Equal(t, want, got, "%s on %v", p.Source(), root)
	require.Equal(t, fmt.Sprint(wantErr), fmt.Sprint(err), "%s on %v", p.Source(), root)
}

// requireCostIsCovered holds that what a native charges is no less than what cel-go counts.
func requireCostIsCovered(t *testing.T, p *Program, root variables) {
	if p.limit == math.MaxInt {
		return
	}
	_, details, _ := p.program.Eval(root)
	require.NotNil(t, details, p.Source())
	cost := details.ActualCost()
	require.NotNil(t, cost, p.Source())
	f := Frame{variables: root, spent: p.cost, limit: p.limit}
	_, _ = p.native(&f)
	require.GreaterOrEqual(t, uint64(f.spent), *cost, "%s on %v", p.Source(), root)
}

func TestNativeKeepsTheCostLimit(t *testing.T) {
	items := []any{}
	for i := range int64(20) {
		items = append(items, map[string]any{"n": i, "text": strings.Repeat("x", int(i))})
	}
	obj := variables{"items": items}
	exceeded, decided := 0, 0
	for limit := uint64(0); limit < 4000; limit += 20 {
		c := testCompiler(t, Options{Cost: limit + 1})
		for _, text := range []string{
			`self.items.all(x, x.n < 100 && x.text != "y")`,
			`self.items.exists(x, x.n == 7)`,
			`self.items.all(x, self.items.exists(y, y.n >= x.n && y.text.contains(x.text)))`,
			`size(self) > 5 && self.items.exists(x, x.n in [3, 4, 5])`,
		} {
			p, err := c.Compile(text)
			require.NoError(t, err)
			requireSameBool(t, p, obj)
			if _, err := p.Eval(obj); err != nil {
				exceeded++
			}
			if _, err := p.Native(obj, new(Frame)); err == nil {
				decided++
			}
		}
	}
	require.Greater(t, exceeded, 50)
	require.Greater(t, decided, 300)
}

func TestNativeAllocatesNothing(t *testing.T) {
	c, f := testCompiler(t, Options{}), Frame{}
	obj := variables{"status": map[string]any{"phase": "Running", "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}}
	for _, source := range []string{
		`self.status.phase == "Running"`, `has(self.status.podIP) || self.status.phase in ["Running", "Pending"]`,
		`self.status.conditions.exists(c, c.type == "Ready" && c.status == "True")`,
	} {
		p, err := c.Compile(source)
		require.NoError(t, err)
		require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = p.Bool(obj, &f) }), source)
	}
}
