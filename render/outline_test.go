package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// without compiles a template that has no outline.
func without(text string, o Options) (*Template, error) {
	t, c, err := prepared(text, o)
	if err != nil {
		return nil, err
	}
	return t, t.associate(c.trees)
}

// rendered is all that can be seen of a rendering, and the steps that are left of it.
type rendered struct {
	text  string
	left  float64
	fault string
	limit bool
}

func renderedBy(t *Template, r *run, in Input) rendered {
	defer r.reset()
	end, err := r.execute(in)
	if end != nil {
		r.write()
	}
	if err == nil {
		return rendered{text: string(r.out), left: r.left}
	}
	fault := t.fault(err)
	return rendered{fault: fault.Error(), limit: errors.Is(fault, ErrLimit)}
}

func sameRendering(t *testing.T, text string, in Input, o Options) {
	t.Helper()
	sameRenderings(t, text, o, in)
}

// sameRenderings renders one input after the other, and then all again: the outline may know their routes by then.
func sameRenderings(t *testing.T, text string, o Options, inputs ...Input) {
	t.Helper()
	slow, err := without(text, o)
	if err != nil {
		return
	}
	fast, err := Compile(text, o)
	require.NoError(t, err)
	r := fast.newRun()
	for range 2 {
		for _, in := range inputs {
			want, got := renderedBy(slow, slow.newRun(), in), renderedBy(fast, r, in)
			require.Equal(t, want, got, "%s\n%v\n%+v", text, in.Object, o)
		}
	}
}

// fussy is an Env that fails for some pods and panics for others.
type fussy struct{ placeholder }

func (e fussy) PodIPs(p Pod) ([]string, error) {
	switch p.Name {
	case "a":
		return nil, errors.New("no address left")
	case "<b>":
		panic("boom")
	}
	return e.placeholder.PodIPs(p)
}

// A scribe writes templates out of what passages are made of and, unless it is tame, what they give up on.
type scribe struct {
	*rand.Rand
	variables []string
	tame      bool
}

func (s *scribe) one(list ...string) string { return list[s.IntN(len(list))] }

func (s *scribe) operand() string {
	if s.tame {
		return s.one(".a", ".b.c", ".number", ".nope", ".share", ".nil", `"text"`, "0", "1.5", "true", s.one(s.variables...), "(or .nope .a)", "(index .list 0)", "$.b.c")
	}
	switch s.IntN(8) {
	case 0:
		return s.one(`"text"`, `""`, `true`, `false`, `0`, `1`, `0x1`, `1.0`, `-1`, `01`, `010`, `'a'`, `nil`)
	case 1, 2:
		return s.one(s.variables...) + s.one("", ".a", ".b.c")
	case 3:
		return "(" + s.pipeline() + ")"
	}
	return s.one(".", ".a", ".b", ".list", ".a.b", ".b.c", ".b.c.d", ".nil", ".nil.a", ".nope", ".nope.a", "$.b.c", "$.list", ".number", ".share")
}

// pipeline fills the operands in at the @.
func (s *scribe) pipeline() string {
	if s.tame {
		return s.tamePipeline()
	}
	text := s.one("@", "@", "@", "@", "Now", "Quote @", "or @ @", "or @ @ @", "and @ @", "index @ @", "index @ @ @", "index .list 1", "NodeIPWith @",
		"PodIPWith @ false @ @ @", "PodIPsWith @ false @ @ @", "NodeIPsWith @",
		"index (NodeIPsWith @) @", "len (PodIPsWith @ false @ @ @)", "len @", "not @", "eq @ @", "eq @ @ @", "ne @ @", "lt @ @", "le @ @", "gt @ @", "ge @ @", "list @ @", `dict "c" @`,
		"(index .list 1).a", "(or @ @).c", "upper @", "default @ @", "randInt 1 9", "until 3", "keys .b", "printf \"%v %d\" @ @", "YAML @", "NodeConditions", "mine @", "ours 1 @")
	text += s.one("", "", "", " | Quote", " | Quote", " | Quote | Quote", " | or .nope", " | index .list", " | printf \"%v\"", " | print 1", " | NodeIPWith", " | and @", " | eq @", " | add (randInt 1 9)", " | printf \"%v\" (randInt 1 9)", " | mine")
	for strings.Contains(text, "@") {
		text = strings.Replace(text, "@", s.operand(), 1)
	}
	return text
}

func (s *scribe) tamePipeline() string {
	text := s.one("@", "@", "@", "Now", "Quote @", "or @ @", "and @ @", "not @", "index .list 1", `index . "a"`, "NodeIPWith .a", "len .list", `eq .a "a" "b"`, "ne .number 2",
		"lt .number 2", "list @ @", `dict "c" @`, "default @ @", "printf \"%v\" @", "YAML @", "mine @", "NodeConditions", "randInt 1 9", `add 1 .number`)
	text += s.one("", "", "", " | Quote", " | Quote | Quote", " | or .nope", " | and .a", " | printf \"%v\" (randInt 1 9)", " | mine")
	for strings.Contains(text, "@") {
		text = strings.Replace(text, "@", s.operand(), 1)
	}
	return text
}

func (s *scribe) nodes(depth int) string {
	var b strings.Builder
	mark := len(s.variables)
	for range 1 + s.IntN(4) {
		b.WriteString(s.one("", "", " ", "text\n", "a: ", strings.Repeat("long ", 9)))
		b.WriteString(s.node(depth))
	}
	s.variables = s.variables[:mark]
	return b.String()
}

func (s *scribe) node(depth int) string {
	kind := s.IntN(9)
	if depth == 0 {
		kind = s.IntN(7)
	}
	switch kind {
	case 5:
		name := fmt.Sprintf("$v%d", s.IntN(30))
		text := fmt.Sprintf("{{ %s := %s }}", name, s.pipeline())
		s.variables = append(s.variables, name)
		return text
	case 6:
		return fmt.Sprintf("{{ %s = %s }}", s.one(s.variables...), s.pipeline())
	case 7:
		return s.loop(depth - 1)
	case 8:
		return s.branch(depth - 1)
	}
	return "{{ " + s.pipeline() + " }}"
}

func (s *scribe) branch(depth int) string {
	pipe, mark := s.pipeline(), len(s.variables)
	switch s.IntN(4) {
	case 0:
		name := fmt.Sprintf("$b%d", s.IntN(30))
		pipe = name + " := " + pipe
		s.variables = append(s.variables, name)
	case 1:
		pipe = s.one(s.variables...) + " = " + pipe
	}
	defer func() { s.variables = s.variables[:mark] }()
	return fmt.Sprintf("{{ %s %s }}%s{{ else }}%s{{ end }}", s.one("if", "with"), pipe, s.nodes(depth), s.nodes(depth))
}

func (s *scribe) loop(depth int) string {
	over := s.one(".list", ".list", ".a", ".b", ".b.c", ".nope", ".nope.a", "$.list", ".number", s.pipeline())
	if s.tame {
		over = s.one("$.list", "$.list", "$.b", "$.nope", "until 2", "keys $.b", "list @ @", "NodeConditions", "NodeIPsWith .a", `PodIPsWith "" false "" .a "b"`)
		over = strings.NewReplacer("@", s.operand()).Replace(over)
	}
	body := s.one("", "{{ break }}", "{{ continue }}", "", "", "")
	if s.IntN(2) == 0 {
		return fmt.Sprintf("{{ range %s }}%s%s{{ else }}%s{{ end }}", over, s.nodes(depth), body, s.nodes(depth))
	}
	mark := len(s.variables)
	s.variables = append(s.variables, "$i", "$e")
	defer func() { s.variables = s.variables[:mark] }()
	return fmt.Sprintf("{{ range $i, $e := %s }}%s%s{{ end }}", over, body, s.nodes(depth))
}

// users are functions as users may have them.
func users() map[string]any {
	return map[string]any{
		"mine": func(list ...any) []any { return list },
		"ours": func(f float64, s fmt.Stringer) (any, error) { return f, errors.New("never") },
	}
}

// things are values that objects are made of.
func things(s *scribe) map[string]any {
	if s.tame {
		return map[string]any{
			"a": s.one("a", "b", "", "<b>"), "b": map[string]any{"c": s.one("deep", "")}, "nil": nil, "number": int64(s.IntN(4)), "share": 0.5,
			"list": []any{map[string]any{"a": "A", "number": int64(7)}, map[string]any{"a": s.one("a", ""), "list": []any{"x"}, "b": map[string]any{"c": true}}},
		}
	}
	pick := func() any {
		return []any{nil, "a", "<b>", "", "text\nof \"lines\"", true, false, int64(3), int64(0), 2.5, 1e30, json.Number("7"), map[string]string{"c": "typed"},
			map[string]any{"c": "deep", "b": "x"}, map[string]any{"c": map[string]any{"d": int64(7)}}, []any{"a", int64(1), nil}, []string{"typed"}, []any{}, 0.0, map[string]string{}}[s.IntN(20)]
	}
	return map[string]any{
		"a": pick(), "b": pick(), "nil": nil, "number": int64(s.IntN(4)), "share": 0.5,
		"list": []any{pick(), map[string]any{"a": pick(), "b": pick()}, pick()},
	}
}

func sameForSeed(t *testing.T, seed uint64) {
	s := &scribe{Rand: rand.New(rand.NewPCG(seed, 0)), variables: []string{"$"}, tame: seed%2 == 0}
	text := s.nodes(3)
	if !s.tame && s.IntN(8) == 0 {
		text = `{{ define "t" }}` + s.nodes(1) + `{{ end }}` + text + `{{ template "t" . }}`
	}
	if s.IntN(8) == 0 {
		text += `{{ $_ := set $ "a" "changed" }}{{ .a }}`
	}
	var inputs []Input
	for range 4 {
		inputs = append(inputs, Input{Object: things(s), Env: fussy{}})
	}
	o := Options{Strict: s.IntN(4) == 0, Steps: 100_000}
	if s.IntN(4) == 0 {
		o.Steps = 1 + s.IntN(300)
	}
	if s.IntN(8) == 0 {
		o.Output = 1 + s.IntN(100)
	}
	o.Funcs = users()
	if s.IntN(8) == 0 {
		o.Funcs = map[string]any{s.one("Quote", "or", "index", "NodeIPWith"): func(list ...any) string { return fmt.Sprint("mine", list) }}
	}
	sameRenderings(t, text, o, inputs...)
}

func TestOutlines(t *testing.T) {
	for seed := range uint64(4_000) {
		sameForSeed(t, seed)
	}
}

func FuzzOutlines(f *testing.F) {
	f.Add(`a: {{ .a | Quote }}{{ range .list }} {{ .a }} {{ or .b .a "x" | Quote }}{{ end }}`, uint64(0))
	f.Add(`{{ $o := index .list 0 }}{{ NodeIPWith .a }}{{ with .nope }}{{ $o = . }}{{ end }}`, uint64(1))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		s := &scribe{Rand: rand.New(rand.NewPCG(seed, 1))}
		sameRendering(t, text, Input{Object: things(s), Seed: seed}, Options{Steps: 10_000, Strict: seed%2 == 1, Funcs: users()})
		sameForSeed(t, seed)
	})
}

// TestNatives holds every native against the function of text/template, with every pair of arguments.
func TestNatives(t *testing.T) {
	o := map[string]any{
		"nil": nil, "empty": "", "text": "a", "number": "2", "yes": true, "no": false, "zero": int64(0), "two": int64(2), "int": 2, "half": 0.5, "float": 2.0,
		"list": []any{"a", int64(2), nil}, "none": []any{}, "map": map[string]any{"a": int64(2), "2": nil}, "void": map[string]any{}, "typed": map[string]string{"a": "b"}, "texts": []string{"a"},
	}
	var operands []string
	for name := range o {
		operands = append(operands, "."+name)
	}
	operands = append(operands, ".nope", "2", "-1", `"a"`, "true", "2.0", "(index .list 2)", ".map.nope")
	slices.Sort(operands)
	names := append(slices.Sorted(maps.Keys(natives)), "and", "or")
	for _, name := range slices.DeleteFunc(names, func(name string) bool { return name == weighFunc }) {
		for _, a := range operands {
			sameRendering(t, fmt.Sprintf("{{ %s }}{{ %[1]s %s }}", name, a), Input{Object: o}, Options{})
			sameRendering(t, fmt.Sprintf("{{ %s %s }}", name, a), Input{Object: o}, Options{})
			for _, b := range operands {
				sameRendering(t, fmt.Sprintf("{{ %s %s %s }}", name, a, b), Input{Object: o}, Options{})
				sameRendering(t, fmt.Sprintf("{{ if %s | %s %s }}yes{{ end }}", a, name, b), Input{Object: o}, Options{})
			}
		}
	}
}

// TestOutlinesAreFound holds that the usual templates are rendered without giving up.
func TestOutlinesAreFound(t *testing.T) {
	in := Input{Env: placeholder{}, Object: map[string]any{
		"name": "web", "null": nil, "n": int64(3), "f": 1.5, "map": map[string]any{"b": "B", "a": "A"},
		"list": []any{map[string]any{"image": "nginx"}, map[string]any{"image": "httpd", "on": true}},
	}}
	for text, want := range map[string]string{
		``:     ``,
		`a: 1`: `a: 1`,
		`{{ .name }} {{ .nope }} {{ .n }} {{ .f }}`:                                                                         `web <no value> 3 1.5`,
		`{{ $n := .name }}{{ $n }}{{ $n = 1 }}{{ $n }}`:                                                                     `web1`,
		`{{ $unused := index .list 0 }}{{ .name | Quote }}`:                                                                 `"web"`,
		`{{ range .list }}{{ .image | Quote }}{{ end }}`:                                                                    `"nginx""httpd"`,
		`{{ range $i, $e := .list }}{{ $o := index $.list $i }}{{ $i }}{{ $e.image }}{{ end }}`:                             `0nginx1httpd`,
		`{{ range $k, $v := .map }}{{ $k }}{{ $v }}{{ break }}{{ else }}none{{ end }}`:                                      `aA`,
		`{{ range .nope }}{{ .a }}{{ else }}none{{ end }}`:                                                                  `none`,
		`{{ range .list }}{{ if .on }}{{ continue }}{{ end }}{{ range $.list }}{{ .image }}{{ end }};{{ end }}`:             `nginxhttpd;`,
		`{{ with .map }}{{ .a }}{{ else }}{{ .name }}{{ end }}{{ with $x := .nope }}{{ $x }}{{ else }}{{ .name }}{{ end }}`: `Aweb`,
		`{{ if and .name (eq .name "cache" "web") (not .nope) }}yes{{ else if .n }}no{{ end }}`:                             `yes`,
		`{{ if gt (len .list) 1 }}{{ (index .list 1).image }}{{ end }}`:                                                     `httpd`,
		`{{ $none := .nope }}{{ or $none.a $none.b "none" }}`:                                                               `none`,
		`{{ range list "a" "b" }}{{ . }}{{ end }}{{ upper .name }}{{ .name | trunc 2 }}`:                                    `abWEBwe`,
		`{{ $d := dict "k" 1 }}{{ $d.k }}{{ range until 3 }}{{ . }}{{ end }}{{ printf "%03d" .n }}`:                         `1012003`,
		`{{ YAML .map }}{{ default "x" .nope }}{{ add 1 (len .list) | toString | Quote }}`:                                  "a: A\nb: B\nx\"3\"",
		`{{ with NodeIPsWith .name }}{{ index . 0 | Quote }}{{ len . }}{{ range . }}{{ . }}{{ end }}{{ end }}`:              `"10.0.0.1"110.0.0.1`,
		`{{ NodeIPWith .name | Quote }} {{ PodIPWith .name (or .host false) (or .uid "") "a" "" | Quote }}`:                 `"10.0.0.1" "10.156.217.45"`,
	} {
		tmpl, err := Compile(text, Options{})
		require.NoError(t, err)
		require.NotNil(t, tmpl.outline, text)
		r := tmpl.newRun()
		require.NoError(t, r.follow(in), text)
		r.write()
		require.Equal(t, want, string(r.out), text)
	}
}

// TestPresetsAreOutlined holds that the templates of the presets are rendered without giving up, and that their values have forms.
func TestPresetsAreOutlined(t *testing.T) {
	pod := map[string]any{
		"metadata": map[string]any{"name": "web", "namespace": "default", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"},
		"spec":     map[string]any{"nodeName": "n", "containers": []any{map[string]any{"name": "c", "image": "i"}}, "initContainers": []any{map[string]any{"name": "d", "image": "j"}}},
		"status":   map[string]any{"phase": "Pending", "qosClass": "BestEffort", "podIP": "10.0.0.1", "podIPs": []any{map[string]any{"ip": "10.0.0.1"}}},
	}
	files, err := filepath.Glob("../stage/presets/*.yaml")
	require.NoError(t, err)
	count := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, doc := range strings.Split(string(data), "\n---\n") {
			var stage map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(doc), &stage), file)
			for _, text := range templates(stage) {
				tmpl, err := Compile(text, Options{})
				require.NoError(t, err)
				require.NotNil(t, tmpl.outline, text)
				r := tmpl.newRun()
				require.NoError(t, r.follow(Input{Env: placeholder{}, Object: pod}), "%s: %s", file, text)
				hasForm := r.learn().root != nil
				require.True(t, hasForm || strings.Contains(text, "{{ $resource }}: "), "no printed key, but no form: %s: %s", file, text)
				count++
			}
		}
	}
	require.Greater(t, count, 15)
}

// templates are all texts called template or statusTemplate within a value.
func templates(v any) (all []string) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			all = append(all, templates(e)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if text, ok := v[key].(string); ok && strings.HasSuffix(strings.ToLower(key), "template") {
				all = append(all, text)
			}
			all = append(all, templates(v[key])...)
		}
	}
	return all
}

// TestOutline shows what text/template executes.
func TestOutline(t *testing.T) {
	tmpl, err := Compile(`{{ .name }}: {{ range .list }}{{ .image }}{{ if .on }}, on{{ else }}{{ break }}{{ end }}{{ end }}.`, Options{})
	require.NoError(t, err)
	mark := func(n byte) string { return string([]byte{n, 0, 0, 0}) }
	want := mark(0) + "{{range $}}" + mark(1) + "{{if $}}" + mark(2) + "{{else}}{{break}}{{end}}{{end}}" + mark(3)
	require.Equal(t, want, tmpl.outline.root.Root.String())
}

// TestNoOutline holds what is left to text/template from the beginning.
func TestNoOutline(t *testing.T) {
	for _, text := range []string{
		`{{ define "t" }}{{ end }}{{ template "t" . }}`,
		`{{ $x := 0 }}{{ range $x = .list }}{{ end }}`,
		`{{ if .a }}{{ $x := 1 }}{{ else }}{{ $x }}{{ end }}`,
		`{{ 'a' }}`,
		`{{ call .a }}`,
	} {
		tmpl, err := Compile(text, Options{})
		require.NoError(t, err)
		require.Nil(t, tmpl.outline, text)
	}
}
