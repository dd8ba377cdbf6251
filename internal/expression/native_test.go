package expr

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

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

// FuzzNativeCEL holds native evaluation to CEL's own on generated expressions and objects: results, and the texts of errors.
func FuzzNativeCEL(f *testing.F) {
	compiler := NewCompiler(Options{})
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := celTexts{Rand: rand.New(rand.NewPCG(seed, 0))}
		requireNativeIsCEL(t, compiler, g)
	})
}

func TestNativeIsCEL(t *testing.T) {
	compiler, native := NewCompiler(Options{}), [3]int{}
	for seed := range uint64(20000) {
		work, decided := requireNativeIsCEL(t, compiler, celTexts{Rand: rand.New(rand.NewPCG(seed, 1))})
		native[work] += decided
	}
	require.Greater(t, native[Lookup], 5000, "most decisions are native, or this compares nothing")
	require.Greater(t, native[Search], 100)
}

func requireNativeIsCEL(t *testing.T, compiler *Compiler, g celTexts) (work Work, decided int) {
	text := g.expression(1 + g.IntN(3))
	p, err := compiler.CEL(text, Bool|String|Int|Uint|Double|Duration|Timestamp)
	if err != nil || p.native == nil {
		return 0, 0
	}
	slow := *p
	slow.native = nil
	for range 4 {
		root, _ := g.object(4).(map[string]any)
		s := NewScope(root, time.Time{})
		got, err := p.evalNative(s)
		if err == errUnsure {
			continue
		}
		decided++
		requireMeterCovers(t, text, p, s)
		want, wantErr := slow.Value(s)
		if scalar, _ := p.Value(s); err == nil && want != nil {
			require.Equal(t, want, scalar, "%s on %v", text, root)
			require.Equal(t, want, got, "%s on %v", text, root)
		} else if err != nil {
			require.EqualError(t, wantErr, err.Error(), "%s on %v", text, root)
		}
		wantBool, wantErr := slow.Bool(s)
		gotBool, gotErr := p.Bool(s)
		require.Equal(t, wantBool, gotBool, "%s on %v", text, root)
		require.Equal(t, fmt.Sprint(wantErr), fmt.Sprint(gotErr), "%s on %v", text, root)
	}
	return p.work, decided
}

// requireMeterCovers holds that what a native charges is no less than what cel-go counts.
func requireMeterCovers(t *testing.T, text string, p *CEL, s *Scope) {
	if p.meter.limit == 0 {
		return
	}
	_, details, _ := p.program.Eval((*activation)(s))
	require.NotNil(t, details, text)
	cost := details.ActualCost()
	require.NotNil(t, cost, text)
	require.GreaterOrEqual(t, uint64(s.meter.spent), *cost, "%s on %v", text, s.Object)
}

func TestNativeKeepsTheCostLimit(t *testing.T) {
	items := []any{}
	for i := range int64(20) {
		items = append(items, map[string]any{"n": i, "text": strings.Repeat("x", int(i))})
	}
	obj := map[string]any{"items": items}
	exceeded, decided := 0, 0
	for limit := uint64(0); limit < 4000; limit += 20 {
		c := NewCompiler(Options{Cost: limit + 1})
		for _, text := range []string{
			`self.items.all(x, x.n < 100 && x.text != "y")`,
			`self.items.exists(x, x.n == 7)`,
			`self.items.all(x, self.items.exists(y, y.n >= x.n && y.text.contains(x.text)))`,
			`size(self) > 5 && self.items.exists(x, x.n in [3, 4, 5])`,
		} {
			p, err := c.CEL(text, Bool)
			require.NoError(t, err)
			slow := *p
			slow.native = nil
			s := NewScope(obj, time.Time{})
			want, wantErr := slow.Bool(s)
			got, gotErr := p.Bool(s)
			require.Equal(t, want, got, "%s within %d", text, limit)
			require.Equal(t, fmt.Sprint(wantErr), fmt.Sprint(gotErr), "%s within %d", text, limit)
			if wantErr != nil {
				exceeded++
			}
			if _, err := p.evalNative(s); err == nil {
				decided++
			}
		}
	}
	require.Greater(t, exceeded, 50)
	require.Greater(t, decided, 300)
}
