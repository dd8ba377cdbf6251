package render_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/render"
)

// corpus is the conformance data, which is not part of the module.
const corpus = "../../shared/conformance/stage"

// TestConformance renders every template of the Stages that are played in the corpus and looks for
// the value in the wanted effects: alone, or under the root that the Stage wraps it in.
func TestConformance(t *testing.T) {
	outputs, _ := filepath.Glob(corpus + "/*/*.output.yaml")
	if len(outputs) == 0 {
		t.Skip("no conformance data in " + corpus)
	}
	rendered := 0
	for _, output := range outputs {
		t.Run(strings.TrimPrefix(output, corpus+"/"), func(t *testing.T) {
			input := documents(t, strings.Replace(output, ".output.", ".input.", 1))[0]
			templates := templates(t, filepath.Dir(output)+"/stages")
			played, _ := object.Slice(documents(t, output)[0], "stages")
			for _, stage := range played {
				wanted := stage.(map[string]any)
				if contains(wanted, "delete") {
					continue // nothing is patched then
				}
				for _, text := range templates[wanted["stage"].(string)] {
					tmpl := compile(t, text, render.Options{Funcs: placeholders})
					got, ok, err := tmpl.Value(render.Input{Object: input})
					require.NoError(t, err)
					rendered++
					if _, operations := got.([]any); !ok || operations {
						continue // their paths get the root in front
					}
					require.True(t, contains(wanted, got), "%v of %s is not in %v", got, text, wanted)
				}
			}
		})
	}
	require.Greater(t, rendered, 20)
}

var placeholders = map[string]any{}

func TestMain(m *testing.M) {
	for _, name := range []string{"Now", "StartTime", "Version", "NodeIP", "NodeName", "NodePort", "PodIP"} {
		placeholders[name] = func() string { return "<" + name + ">" }
	}
	for _, name := range []string{"NodeIPWith", "PodIPWith"} {
		placeholders[name] = func(args ...any) string { return "<" + call(name, args) + ">" }
	}
	for _, name := range []string{"NodeIPsWith", "PodIPsWith"} {
		placeholders[name] = func(args ...any) []string {
			return []string{"<0 of " + call(name, args) + ">", "<1 of " + call(name, args) + ">"}
		}
	}
	os.Exit(m.Run())
}

func call(name string, args []any) string {
	var texts []string
	for _, arg := range args {
		texts = append(texts, fmt.Sprintf("%#v", arg))
	}
	return name + "(" + strings.Join(texts, ", ") + ")"
}

func documents(t *testing.T, file string) []map[string]any {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var docs []map[string]any
	for doc := range strings.SplitSeq("\n"+string(data), "\n---") {
		var m map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(doc), &m), file)
		docs = append(docs, integers(m).(map[string]any))
	}
	return docs
}

// integers undoes that the decoder makes every number a float64.
func integers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = integers(e)
		}
	case []any:
		for i, e := range v {
			v[i] = integers(e)
		}
	case float64:
		if n, ok := object.ToInt64(v); ok {
			return n
		}
	}
	return v
}

// templates are the texts of the templates in effect, by the name of the Stage.
func templates(t *testing.T, dir string) map[string][]string {
	files, err := filepath.Glob(dir + "/*.yaml")
	require.NoError(t, err)
	all := map[string][]string{}
	for _, file := range files {
		for _, doc := range documents(t, file) {
			name, _ := object.String(doc, "metadata", "name")
			all[name] = append(all[name], effective(doc)...)
		}
	}
	return all
}

func effective(doc map[string]any) []string {
	steps, _ := object.Slice(doc, "spec", "steps")
	if len(steps) == 0 {
		steps, _ = object.Slice(doc, "spec", "next", "patches")
	}
	if text, ok := object.String(doc, "spec", "next", "statusTemplate"); ok && len(steps) == 0 {
		return []string{text}
	}
	var texts []string
	for _, step := range steps {
		for _, path := range [][]string{{"template"}, {"patch", "template"}, {"apply", "template"}} {
			if text, ok := object.String(step.(map[string]any), path...); ok {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

func contains(haystack, needle any) bool {
	if reflect.DeepEqual(haystack, needle) {
		return true
	}
	switch h := haystack.(type) {
	case map[string]any:
		for _, v := range h {
			if contains(v, needle) {
				return true
			}
		}
	case []any:
		for _, v := range h {
			if contains(v, needle) {
				return true
			}
		}
	}
	return false
}
