package position

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
)

const testLimit = 1 << 20

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

// sameAsReference compares Parse with sigs.k8s.io/yaml, and the plain parser with the other one.
func sameAsReference(t *testing.T, text string) {
	t.Helper()
	got, ok, err := new(YAMLParser).Parse(text, testLimit)
	if v, isPlain := parsePlain(text, new(stringTable)); isPlain && !isBlank(text) {
		other, otherErr := ParseYAML(text, testLimit)
		require.NoError(t, otherErr, "%q", text)
		require.Equal(t, other, v, "%q", text)
	}
	if errors.Is(err, ErrTooLarge) || err != nil && strings.Contains(err.Error(), "two keys are") {
		return // Parse refuses these intentionally
	}
	want, wantErr := reference(text)
	if err == nil && !ok {
		require.Nil(t, want, "%q", text)
		return
	}
	require.Equal(t, wantErr == nil, err == nil, "%q\nParse: %v\nreference: %v", text, err, wantErr)
	if err == nil {
		require.Equal(t, want, got, "%q", text)
	}
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

func TestParseIsLikeTheReference(t *testing.T) {
	for seed := range uint64(effort.Of(5_000)) {
		sameAsReference(t, random(seed))
	}
	forms := []string{
		"%s: %s", "- %[2]s", "%[2]s", " %[2]s", "- %s: %s\n  b: c", "[%[2]s]", "{%s: %s}",
		"%s: {%[1]s: [%[2]s, %[2]s]}", "x:\n- %[2]s\ny: 1", "%s:%s",
	}
	for _, key := range keys {
		for _, value := range scalars {
			for _, form := range forms {
				sameAsReference(t, fmt.Sprintf(form, key, value))
			}
		}
	}
}

func FuzzYAMLParser(f *testing.F) {
	for seed := range uint64(50) {
		f.Add(random(seed), seed)
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		sameAsReference(t, text)
		sameAsReference(t, random(seed))
	})
}

// status is such as a template renders for a Pod.
const status = `
conditions:
- type: "Ready"
  status: "True"
  lastTransitionTime: "2026-08-01T12:00:00Z"

# the usual
- type: Initialized
  status: "True"
  message: 'as it should be'
containerStatuses:
  - name: app
    image: docker.io/library/nginx:1.27
    ready: true
    restartCount: 0
    command: []
    state:
      running:
        startedAt: "2026-08-01T12:00:00Z"
hostIP:
podIP: 10.0.0.1
phase: Running
resources: {}
`

func TestUsualTextsArePlain(t *testing.T) {
	v, ok := parsePlain(status, new(stringTable))
	require.True(t, ok)
	m := v.(map[string]any)
	require.Equal(t, "10.0.0.1", m["podIP"])
	require.Nil(t, m["hostIP"])
	require.Len(t, m["conditions"], 2)
	sameAsReference(t, status)
}

// TestValuesDoNotKeepTheText fails if a string of a value is a part of the text.
func TestValuesDoNotKeepTheText(t *testing.T) {
	text := strings.Repeat("key: value\nlong: "+strings.Repeat("x", 100)+"\n", 2)
	first, last := unsafe.StringData(text), unsafe.StringData(text[len(text)-1:])
	v, _, err := new(YAMLParser).Parse(text, testLimit)
	require.NoError(t, err)
	for key, value := range v.(map[string]any) {
		for _, s := range []string{key, value.(string)} {
			at := uintptr(unsafe.Pointer(unsafe.StringData(s)))
			require.False(t, uintptr(unsafe.Pointer(first)) <= at && at <= uintptr(unsafe.Pointer(last)), s)
		}
	}
}

func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want any
		ok   bool
	}{
		"nothing is no value":  {" \n\n", nil, false},
		"nor are comments":     {"# one\n\n  # two\n---\n...\n", nil, false},
		"null is a value":      {"null", nil, true},
		"a comment of YAML":    {"# a\u2028b: 1", map[string]any{"b": int64(1)}, true},
		"a comma at the end":   {"[a, ]", []any{"a"}, true},
		"keys become strings":  {"1: a\ntrue: b\n1.5: c", map[string]any{"1": "a", "true": "b", "1.5": "c"}, true},
		"the last key counts":  {"a: 1\na: 2", map[string]any{"a": int64(2)}, true},
		"the first doc counts": {"a: 1\n---\nb: 2", map[string]any{"a": int64(1)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok, err := new(YAMLParser).Parse(c.text, testLimit)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			require.Equal(t, c.ok, ok)
		})
	}
}

func TestFaults(t *testing.T) {
	for name, c := range map[string]struct{ text, message string }{
		"a fault of the syntax":              {"a: 1\nb: c: d", "yaml: line 2: mapping values are not allowed in this context"},
		"two keys with one spelling":         {"1: a\n\"1\": b", "yaml: two keys are \"1\""},
		"a null key":                         {"~: a", "yaml: unsupported key of type <nil>"},
		"a number that JSON has no word for": {"a: .inf", "yaml: unsupported number +Inf"},
	} {
		t.Run(name, func(t *testing.T) {
			_, ok, err := new(YAMLParser).Parse(c.text, testLimit)
			require.EqualError(t, err, c.message)
			require.False(t, ok)
		})
	}
}

func TestHostileTexts(t *testing.T) {
	texts := []string{
		strings.Repeat("[", 500_000), strings.Repeat("- ", 500_000), strings.Repeat("{a: ", 200_000), `a: &a [*a]`,
	}
	for _, text := range texts {
		_, _, err := new(YAMLParser).Parse(text, testLimit)
		require.Error(t, err)
	}
	text := `a: &a ` + strings.Repeat("x", 100_000) + "\nb: [" + strings.Repeat("*a,", 100) + "]"
	_, _, err := new(YAMLParser).Parse(text, testLimit)
	require.ErrorIs(t, err, ErrTooLarge)
	require.EqualError(t, err, "yaml: needs more than 1048576 bytes of values: limit exceeded")
}

func BenchmarkParse(b *testing.B) {
	var p YAMLParser
	b.ReportAllocs()
	for b.Loop() {
		_, _, err := p.Parse(status, testLimit)
		require.NoError(b, err)
	}
}
