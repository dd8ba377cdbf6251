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
type celTexts struct{ *rand.Rand }

func (g celTexts) pick(of ...string) string { return of[g.IntN(len(of))] }

func (g celTexts) path() string {
	parts := []string{"self"}
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
	switch g.IntN(12) {
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

func (g celTexts) object(depth int) any {
	if depth > 0 {
		switch g.IntN(5) {
		case 0:
			return []any{g.object(depth - 1), g.object(depth - 1)}
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
		g := celTexts{rand.New(rand.NewPCG(seed, 0))}
		requireNativeIsCEL(t, compiler, g)
	})
}

func TestNativeIsCEL(t *testing.T) {
	compiler, native := NewCompiler(Options{}), 0
	for seed := range uint64(20000) {
		native += requireNativeIsCEL(t, compiler, celTexts{rand.New(rand.NewPCG(seed, 1))})
	}
	require.Greater(t, native, 5000, "most decisions are native, or this compares nothing")
}

func requireNativeIsCEL(t *testing.T, compiler *Compiler, g celTexts) (decided int) {
	text := g.expression(1 + g.IntN(3))
	p, err := compiler.CEL(text, Bool|String|Int|Uint|Double|Duration|Timestamp)
	if err != nil || p.native == nil {
		return 0
	}
	slow := *p
	slow.native = nil
	for range 4 {
		root, _ := g.object(4).(map[string]any)
		s := NewScope(root, time.Time{})
		got, err := p.native(root)
		if err == errUnsure {
			continue
		}
		decided++
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
	return decided
}
