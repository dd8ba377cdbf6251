package render

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const routed = `{{- $n := .n }}a: {{ .a | Quote }}
b: "{{ range .list }} {{ .a }} {{ end }}"
fixed: {c: [1, x]}
{{ if .on }}c: {d: {{ $n }}, e: {{ .a | Quote }} }
{{ end }}list:
{{- range .list }}
- e: {{ .a }}
  f: {g: 1}
{{- end }}`

func routedObject(n int64, on bool, items ...any) map[string]any {
	list := []any{}
	for _, item := range items {
		list = append(list, map[string]any{"a": item})
	}
	return map[string]any{"a": "A", "n": n, "on": on, "list": list}
}

// TestRoutesAreLearnt holds that a second rendering of a route needs neither text/template nor YAML.
func TestRoutesAreLearnt(t *testing.T) {
	tmpl, err := Compile(routed, Options{})
	require.NoError(t, err)
	r := tmpl.newRun()
	for _, obj := range []map[string]any{routedObject(1, false), routedObject(1, true, "x"), routedObject(1, true, "x", "y"), routedObject(1, true)} {
		end, err := r.replay(Input{Object: obj})
		require.NoError(t, err)
		require.Nil(t, end, "the route is new")
		_, err = r.execute(Input{Object: obj})
		require.NoError(t, err)
		end, err = r.replay(Input{Object: obj})
		require.NoError(t, err)
		require.NotNil(t, end)
		require.NotNil(t, end.root)
	}
	end, err := r.replay(Input{Object: routedObject(7, true, "p", "3")})
	require.NoError(t, err)
	v, ok := end.value(r)
	require.True(t, ok)
	require.Equal(t, map[string]any{
		"a": "A", "b": " p  3 ", "fixed": map[string]any{"c": []any{int64(1), "x"}}, "c": map[string]any{"d": int64(7), "e": "A"},
		"list": []any{map[string]any{"e": "p", "f": map[string]any{"g": int64(1)}}, map[string]any{"e": int64(3), "f": map[string]any{"g": int64(1)}}},
	}, v)
}

// TestFormsAreLeft holds that a print that is more than a scalar is read as YAML.
func TestFormsAreLeft(t *testing.T) {
	tmpl, err := Compile(routed, Options{})
	require.NoError(t, err)
	r := tmpl.newRun()
	_, err = r.execute(Input{Object: routedObject(1, true, "x")})
	require.NoError(t, err)
	for _, odd := range []string{"[x]", "", " x", "x ", "a: b", "x\n", `"`, "#"} {
		end, err := r.replay(Input{Object: routedObject(1, true, odd)})
		require.NoError(t, err)
		_, ok := end.value(r)
		require.False(t, ok, "%q", odd)
	}
}

// TestRoutesAreForgotten holds that a run remembers a bounded number of routes.
func TestRoutesAreForgotten(t *testing.T) {
	tmpl, err := Compile(`a:{{ range .list }}{{ if . }} 1{{ else }} 0{{ end }}{{ end }}`, Options{})
	require.NoError(t, err)
	r, most := tmpl.newRun(), 0
	for n := range 4000 {
		var list []any
		for bit := range 12 {
			list = append(list, n>>bit&1 == 1)
		}
		_, err := r.execute(Input{Object: map[string]any{"list": list}})
		require.NoError(t, err)
		ways := waysOf(&r.start)
		require.LessOrEqual(t, ways, r.learnt)
		most = max(most, ways)
	}
	require.Greater(t, most, mostWays/2)
	require.Less(t, most, mostWays+100)
	require.Positive(t, r.rest, "no route was taken twice")
	for r.rest > 0 {
		_, err := r.execute(Input{Object: map[string]any{"list": nil}})
		require.NoError(t, err)
	}
	for range 2 {
		_, err := r.execute(Input{Object: map[string]any{"list": nil}})
		require.NoError(t, err)
	}
	require.Equal(t, 1, r.known)
}

// TestLongRoutesAreNotLearnt holds that one rendering leaves no more behind than many.
func TestLongRoutesAreNotLearnt(t *testing.T) {
	tmpl, err := Compile(`a:{{ range .list }} {{ . }}{{ end }}`, Options{})
	require.NoError(t, err)
	list := make([]any, mostWays+1)
	for i := range list {
		list[i] = "x"
	}
	r := tmpl.newRun()
	for range 2 {
		end, err := r.execute(Input{Object: map[string]any{"list": list}})
		require.NoError(t, err)
		require.Nil(t, end.root)
		require.Empty(t, r.start)
		r.reset()
		require.Zero(t, cap(r.route)+cap(r.prints))
	}
}

func waysOf(f *fork) int {
	n := len(*f)
	for _, w := range *f {
		if w.to != nil {
			n += waysOf(w.to)
		}
	}
	return n
}
