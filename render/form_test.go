package render_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/render"
)

// lineParts are what lines of templates are made of, and what makes something else of them.
var lineParts = []string{
	"\na: ", "\n- a: ", "\n  b: ", "\n  - c: ", "\nlist:", "\n\"k\": ", "\na:  ", "\n", "\n", "\n", "\nb: 1\nc:\n  d: x\n", "\n- - e: ", "\na:", "\n- ", "\n# no: ", " ", "x", ": ",
	"\nf: g: ", " # note\n", "\n  \n", "\n[a: ", "{{ .s | Quote }}", "{{ .s | Quote }}", "{{ .s | Quote }}", "{{ .odd | Quote }}", "{{ .none | Quote }}", "{{ .n | Quote }}",
	"{{ .s }}", "{{ .n }}", "{{ .none }}", "\nq: \"x{{ .s }}{{ .n }}\"", "\nr: 'x {{ .s }}'", "\nu: x{{ .s }}", "\nu: {{ .n }}m", "\nv: {a: {{ .s }}, b: [{{ .n }}, \"x {{ .s }}\", {{ .odd | Quote }}]}",
	"\nv: { {{- .key }} 1}", "\nw: {{ .s }}", "\n- {{ .n }}", "\na: {{ .s }}", "\na: {{ .s }}", "\nx:\n  y:\n  - {{ .s | Quote }}\n  - z", "{{ .key }}", "{{ .end }}", "{{ if .s }}{{ .s | Quote }}{{ end }}", "{{ range .both }}\n- a: {{ . | Quote }}\n  b: 1{{ end }}\n",
}

// odd are values that a scalar cannot have, or not without quotes, beside such as it usually has.
var odd = []any{
	"v", "web", "v", "10.0.0.1", "a b", "", " x", "x ", "[", "b: c", "c:", "\n", "a\nb: 1", "#", "x #y", "y", "null", "~", "0", "007", "1.5", "-", "- a", "-3", "---", "...", "{}", "a,b", "]", "}, b: {",
	`"q"`, `"q" `, `"`, `'`, "'x'", "it's", `a "b"`, `\`, "é", "&a", "*a", "|", "2006-01-02", "12:30", "<v>", "_x", "/x", "\"a\": b", "\t",
	int64(0), int64(-7), 3, true, false, nil, 2.5, 1e30, []any{}, []any{"a"}, map[string]any{"a": "b"}, map[string]any{},
}

// sameByText holds that what a template learnt from other objects changes nothing: a value is that of the rendered text.
func sameByText(t *testing.T, whole *render.Template, seed uint64) {
	t.Helper()
	rnd, source := rand.New(rand.NewPCG(seed, 0)), "{{ .start }}"
	for range 2 + rnd.IntN(7) {
		source += lineParts[rnd.IntN(len(lineParts))]
	}
	tmpl := compile(t, source+"{{ .none }}", render.Options{})
	for i := range 6 {
		in := render.Input{Object: map[string]any{
			"s": "v", "odd": "a \"b\"\n", "none": "", "n": int64(1), "key": "key: ", "end": "\n", "start": []string{"", "a: 1", "- b"}[rnd.IntN(3)], "both": []any{"x", "y"}[:rnd.IntN(3)],
		}}
		for name := range in.Object {
			if name != "both" && rnd.IntN(4) < i/2 {
				in.Object[name] = odd[rnd.IntN(len(odd))]
			}
		}
		sameValue(t, tmpl, whole, in, source)
	}
}

func sameValue(t *testing.T, tmpl, whole *render.Template, in render.Input, source string) {
	t.Helper()
	text, err := tmpl.Text(in)
	require.NoError(t, err)
	want, wantOK, wantErr := whole.Value(render.Input{Object: map[string]any{"text": text}})
	got, ok, err := tmpl.Value(in)
	require.Equal(t, fmt.Sprint(wantErr), fmt.Sprint(err), "%q %v", source, in.Object)
	require.Equal(t, wantOK, ok, "%q %v", source, in.Object)
	require.Equal(t, want, got, "%q %v", source, in.Object)
}

func TestForms(t *testing.T) {
	whole := compile(t, `{{ .text }}`, render.Options{})
	for seed := range uint64(20_000) {
		sameByText(t, whole, seed)
	}
}

func FuzzForms(f *testing.F) {
	whole := compile(f, `{{ .text }}`, render.Options{})
	f.Fuzz(func(t *testing.T, seed uint64) { sameByText(t, whole, seed) })
}
