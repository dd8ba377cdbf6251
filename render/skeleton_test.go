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
	"{{ .s }}", "{{ .n }}", "{{ .none }}", "{{ .key }}", "{{ .end }}", "{{ if .s }}{{ .s | Quote }}{{ end }}", "{{ range .both }}\n- a: {{ . | Quote }}\n  b: 1{{ end }}\n",
}

// sameByText holds that knowing the lines of a template changes nothing: a value is that of the rendered text.
func sameByText(t *testing.T, whole *render.Template, seed uint64) {
	t.Helper()
	rnd, source := rand.New(rand.NewPCG(seed, 0)), "{{ .start }}"
	for range 2 + rnd.IntN(7) {
		source += lineParts[rnd.IntN(len(lineParts))]
	}
	in := render.Input{Object: map[string]any{
		"s": "v", "odd": "a \"b\"\n", "none": "", "n": int64(1), "key": "key: ", "end": "\n", "start": []string{"", "a: 1", "- b"}[rnd.IntN(3)], "both": []any{"x", "y"},
	}}
	tmpl := compile(t, source+"{{ .none }}", render.Options{})
	text, err := tmpl.Text(in)
	require.NoError(t, err)
	want, wantOK, wantErr := whole.Value(render.Input{Object: map[string]any{"text": text}})
	for range 2 { // what a rendering leaves behind changes nothing either
		got, ok, err := tmpl.Value(in)
		require.Equal(t, fmt.Sprint(wantErr), fmt.Sprint(err), "%q", source)
		require.Equal(t, wantOK, ok, "%q", source)
		require.Equal(t, want, got, "%q", source)
	}
}

func TestSkeletons(t *testing.T) {
	whole := compile(t, `{{ .text }}`, render.Options{})
	for seed := range uint64(20_000) {
		sameByText(t, whole, seed)
	}
}

func FuzzSkeletons(f *testing.F) {
	whole := compile(f, `{{ .text }}`, render.Options{})
	f.Fuzz(func(t *testing.T, seed uint64) { sameByText(t, whole, seed) })
}
