package house_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/cel-go/common/types"
	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/race"
	"github.com/stagecraft-go/stagecraft/internal/dev/work"
	"github.com/stagecraft-go/stagecraft/internal/expression"
	"github.com/stagecraft-go/stagecraft/render"
)

// attackedObject is the object of an attack in November 2026, with a text that is not ASCII.
func attackedObject() map[string]any {
	long := strings.Repeat("a", 1<<20)
	l, zeros, texts := make([]any, 3000), make([]any, 200_000), make([]any, 20_000)
	for i := range l {
		l[i] = int64(i)
	}
	for i := range zeros {
		zeros[i] = int64(0)
	}
	for i := range texts {
		texts[i] = fmt.Sprintf("%05d", i)
	}
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": "x", "annotations": map[string]any{
			"half": long[:1<<19] + "b", "r": strings.Repeat("(a|b)?", 9000), "d": "1h", "q": strings.Repeat("9", 1<<19),
		}},
		"spec": map[string]any{"s": long, "l": l, "ll": zeros, "ls": texts, "u": strings.Repeat("é", 1<<19)},
	}
}

var repeats = regexp.MustCompile(`«(\d+)×([^»]*)»`)

// attacks reads lines with a kind, a name and an expression, in which «3×ab» is ababab.
func attacks(t *testing.T) [][]string {
	data, err := os.ReadFile("internal/house/testdata/attack.txt")
	require.NoError(t, err)
	var all [][]string
	for line := range strings.Lines(string(data)) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		text := strings.NewReplacer(`\\`, `\`, `\n`, "\n").Replace(parts[2])
		parts[2] = repeats.ReplaceAllStringFunc(text, func(part string) string {
			found := repeats.FindStringSubmatch(part)
			n, err := strconv.Atoi(found[1])
			require.NoError(t, err)
			return strings.Repeat(found[2], n)
		})
		all = append(all, parts)
	}
	require.Len(t, all, 345)
	return all
}

// TestExpressionsOfAnAttack evaluates all expressions of that attack, most of which are refused, with
// the default limits. None panics, takes long or takes more than 64 MiB.
func TestExpressionsOfAnAttack(t *testing.T) {
	obj, compiler := attackedObject(), expression.NewCompiler(expression.Options{})
	evaluate := map[string]func(text string) error{
		"cel": func(text string) error {
			p, err := compiler.CEL(text, types.BoolType)
			if err == nil {
				_, err = p.Value(expression.NewScope(obj, limitsNow))
			}
			return err
		},
		"jq": func(text string) error {
			p, err := compiler.JQ(text)
			if err == nil {
				_, err = p.Run(expression.NewScope(obj, limitsNow).JQ())
			}
			return err
		},
		"template": func(text string) error {
			tmpl, err := render.Compile(text, render.Options{})
			if err == nil {
				_, _, err = tmpl.Value(render.Input{Object: obj, Now: limitsNow, Env: render.NewNetwork(render.NetworkOptions{})})
			}
			return err
		},
	}
	for _, attack := range attacks(t) {
		t.Run(attack[0]+"/"+attack[1], func(t *testing.T) {
			var err error
			spent := work.Measure(1, func() { err = evaluate[attack[0]](attack[2]) })
			t.Logf("%v, %.1f MiB: %.100v", spent.Time, float64(spent.Bytes)/(1<<20), err)
			if !race.On {
				require.Less(t, spent.Bytes, uint64(64<<20))
				require.Less(t, spent.Time, slowest)
			}
		})
	}
}
