package render_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/render"
)

// reference is what sigs.k8s.io/yaml makes of a text, with our numbers.
func reference(text string) (v any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	err = dec.Decode(&v)
	return numbers(v), err
}

func numbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = numbers(e)
		}
	case []any:
		for i, e := range v {
			v[i] = numbers(e)
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	}
	return v
}

// sameAsReference renders the text itself and compares; tmpl is {{ .text }}.
func sameAsReference(t *testing.T, tmpl *render.Template, text string) {
	t.Helper()
	got, ok, err := tmpl.Value(render.Input{Object: map[string]any{"text": text}})
	if errors.Is(err, render.ErrLimit) || err != nil && strings.Contains(err.Error(), "two keys are") {
		return // where we refuse on purpose
	}
	want, wantErr := reference(text)
	if err == nil && !ok {
		require.Nil(t, want, "%q", text)
		return
	}
	require.Equal(t, wantErr == nil, err == nil, "%q\nours: %v\nreference: %v", text, err, wantErr)
	if err == nil {
		require.Equal(t, want, got, "%q", text)
	}
}

// sameInPieces renders the text from a template that has some pieces of it, which are read once and for all, and the others from
// the object, quoted or not; tmpl is {{ .text }}.
func sameInPieces(t *testing.T, tmpl *render.Template, text string, rnd *rand.Rand) {
	t.Helper()
	object, source, whole := map[string]any{}, "", ""
	for rest, literal := text, true; rest != "" || literal; {
		n := []int{rnd.IntN(min(len(rest), 60) + 1), strings.Index(rest, ": ") + 2, strings.Index(rest, "\n") + 1, strings.Index(rest, "\n")}[rnd.IntN(4)]
		piece := rest[:min(max(n, 0), len(rest))]
		rest = rest[len(piece):]
		if literal = source != "" && !literal && !strings.ContainsAny(piece, "{}"); literal {
			source, whole = source+piece, whole+piece
			continue
		}
		name := fmt.Sprintf("p%d", len(object))
		object[name] = piece
		if rnd.IntN(2) == 0 {
			source, whole = source+"{{ ."+name+" }}", whole+piece
			continue
		}
		quoted, err := json.Marshal(piece)
		require.NoError(t, err)
		source, whole = source+"{{ ."+name+" | Quote }}", whole+string(quoted)
	}
	want, wantOK, wantErr := tmpl.Value(render.Input{Object: map[string]any{"text": whole}})
	got, ok, err := compile(t, source, render.Options{}).Value(render.Input{Object: object})
	require.Equal(t, fmt.Sprint(wantErr), fmt.Sprint(err), "%q\n%q", whole, source)
	require.Equal(t, wantOK, ok, "%q\n%q", whole, source)
	require.Equal(t, want, got, "%q\n%q", whole, source)
}

// writer makes random YAML of the kinds that templates render, most of it well formed.
type writer struct {
	*rand.Rand
	out strings.Builder
}

var (
	scalars = strings.Split(`a|Running|"True"|'x y'|true|no|y|null|~|0|7|-3|007|0x1F|1_000|1.5|-0|1e3|.5|+1|10.0.0.1|100m|1Gi|12:30|2006-01-02|`+
		`2006-01-02T15:04:05Z|"2006-01-02T15:04:05.123Z"|2006-01-02 15:04:05|nginx:1.2|docker.io/a/b:v1|a b  c|kubelet is ready (ok)|"q\"\u003c\n"|"\/"|"\x41"|''|""|`+
		`'it''s'|[]|{}|[a, "b", 1]|{a: 1, "b": [x]}|{"a":1,"b":{}}|[a: b]|[a, ]|{a}|-|--|---|...|-a|a:|a: b|a #c|#c|é|*a|&a x|!!str 1|<no value>|a,b|=|_x|/x|%x|@x|0b1|0o7|"a" b|"a|{|]`, "|")
	keys = strings.Split(`a|b|name|lastTransitionTime|app.kubernetes.io/name|"a/b"|'q'|y|on|null|1|1.5|"a b"|a b|_|x-y|<<|é|"\n"`, "|")
)

func pick(w *writer, list []string) string {
	// The first ones are the most frequent, so that most texts are well formed.
	return list[min(w.IntN(len(list)), w.IntN(len(list)), w.IntN(len(list)))]
}

func (w *writer) collection(indent, depth int) {
	list := w.IntN(2) == 0
	for range 1 + w.IntN(3) {
		switch pad := strings.Repeat(" ", indent); {
		case w.IntN(12) == 0:
			w.out.WriteString([]string{"\n", "  \n", pad + "# note\n", "# note\n"}[w.IntN(4)])
		case list && w.IntN(3) == 0 && depth > 0:
			w.out.WriteString(pad + "- " + pick(w, keys) + ": " + pick(w, scalars) + "\n")
			w.out.WriteString(pad + "  " + pick(w, keys) + ":\n")
			w.collection(indent+2+2*w.IntN(2), depth-1)
		case list:
			w.out.WriteString(pad + "-")
			w.below(indent, depth)
		default:
			w.out.WriteString(pad + pick(w, keys) + ":")
			w.below(indent, depth)
		}
	}
}

func (w *writer) below(indent, depth int) {
	if depth == 0 || w.IntN(2) == 0 {
		w.out.WriteString(strings.Repeat(" ", 1+w.IntN(5)/4) + pick(w, scalars) + []string{"", "", "", " ", " # note"}[w.IntN(5)] + "\n")
		return
	}
	w.out.WriteString("\n")
	w.collection(indent+[]int{2, 2, 4, 0, 1}[w.IntN(5)], depth-1)
}

// mutate changes a few bytes.
func (w *writer) mutate(text string) string {
	for range w.IntN(4) {
		i := w.IntN(len(text) + 1)
		j := min(i+w.IntN(2), len(text))
		const bytes = " \n:-#'\"[]{},a1.\\\t~&*!|>?%@_/\r\x00é"
		text = text[:i] + string(bytes[w.IntN(len(bytes))]) + text[j:]
	}
	return text
}

func random(seed uint64) string {
	w := &writer{Rand: rand.New(rand.NewPCG(seed, 0))}
	w.collection(w.IntN(5)/4, 3)
	return w.mutate(w.out.String())
}

func TestValueIsThatOfTheReference(t *testing.T) {
	tmpl := compile(t, `{{ .text }}`, render.Options{})
	for seed := range uint64(5_000) {
		sameAsReference(t, tmpl, random(seed))
		sameInPieces(t, tmpl, random(seed), rand.New(rand.NewPCG(seed, 1)))
	}
	for _, key := range keys {
		for _, value := range scalars {
			for _, form := range []string{"%s: %s", "- %[2]s", "%[2]s", " %[2]s", "- %s: %s\n  b: c", "[%[2]s]", "{%s: %s}", "%s: {%[1]s: [%[2]s, %[2]s]}", "x:\n- %[2]s\ny: 1", "%s:%s"} {
				sameAsReference(t, tmpl, fmt.Sprintf(form, key, value))
			}
		}
	}
}

func FuzzValueIsThatOfTheReference(f *testing.F) {
	for seed := range uint64(50) {
		f.Add(random(seed), seed)
	}
	tmpl := compile(f, `{{ .text }}`, render.Options{})
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		sameAsReference(t, tmpl, text)
		sameAsReference(t, tmpl, random(seed))
		for _, text := range []string{text, random(seed)} {
			sameInPieces(t, tmpl, text, rand.New(rand.NewPCG(seed, 1)))
		}
	})
}

// TestUsualTextsAreReadFast fails if the status of a pod is left to the general YAML parser.
func TestUsualTextsAreReadFast(t *testing.T) {
	tmpl, in := compile(t, ready, render.Options{}), benchInput()
	text := testing.AllocsPerRun(100, func() { _, _ = tmpl.Text(in) })
	value := testing.AllocsPerRun(100, func() { _, _, _ = tmpl.Value(in) })
	require.Less(t, value-text, 100.0)
}
