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

	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
)

// withoutProgram compiles a template that only text/template executes.
func withoutProgram(text string, o Options) (*Template, error) {
	t, trees, err := parsed(text, o)
	if err != nil {
		return nil, err
	}
	return t, t.associate(trees)
}

// rendered is all that can be seen of a rendering, and the steps that are left of it.
type rendered struct {
	text  string
	left  float64
	fault string
	limit bool
}

func renderedBy(t *Template, s *state, in Input) rendered {
	defer s.reset()
	if err := s.execute(in); err != nil {
		fault := t.fault(err)
		return rendered{fault: fault.Error(), limit: errors.Is(fault, ErrLimit)}
	}
	return rendered{text: string(s.out), left: s.left}
}

// sameRenderings renders one input after the other, with the program of the template and without.
func sameRenderings(t *testing.T, text string, o Options, inputs ...Input) {
	t.Helper()
	slow, err := withoutProgram(text, o)
	if err != nil {
		return
	}
	fast, err := Compile(text, o)
	require.NoError(t, err)
	s := fast.newState()
	for _, in := range inputs {
		want, got := renderedBy(slow, slow.newState(), in), renderedBy(fast, s, in)
		require.Equal(t, want, got, "%s\n%v\n%+v", text, in.Object, o)
	}
}

// unsteadyEnv is an Env that fails for some pods and panics for others.
type unsteadyEnv struct{ placeholder }

func (e unsteadyEnv) PodIPs(p Pod) ([]string, error) {
	switch p.Name {
	case "a":
		return nil, errors.New("no address left")
	case "<b>":
		panic("boom")
	}
	return e.placeholder.PodIPs(p)
}

// A generator writes templates from the parts that programs support. Unless it is tame, it also
// uses parts on which programs give up.
type generator struct {
	*rand.Rand
	variables []string
	tame      bool
}

func (g *generator) one(list ...string) string { return list[g.IntN(len(list))] }

func (g *generator) operand() string {
	if g.tame {
		return g.one(".a", ".b.c", ".number", ".nope", ".share", ".nil", `"text"`, "0", "1.5", "true", g.one(g.variables...), "(or .nope .a)", "(index .list 0)", "$.b.c")
	}
	switch g.IntN(8) {
	case 0:
		return g.one(`"text"`, `""`, `true`, `false`, `0`, `1`, `0x1`, `1.0`, `-1`, `01`, `010`, `'a'`, `nil`)
	case 1, 2:
		return g.one(g.variables...) + g.one("", ".a", ".b.c")
	case 3:
		return "(" + g.pipeline() + ")"
	}
	return g.one(".", ".a", ".b", ".list", ".a.b", ".b.c", ".b.c.d", ".nil", ".nil.a", ".nope", ".nope.a", "$.b.c", "$.list", ".number", ".share")
}

// pipeline fills the operands in at the @.
func (g *generator) pipeline() string {
	if g.tame {
		return g.tamePipeline()
	}
	text := g.one("@", "@", "@", "@", "Now", "Quote @", "or @ @", "or @ @ @", "and @ @", "index @ @", "index @ @ @", "index .list 1", "NodeIPWith @",
		"PodIPWith @ false @ @ @", "PodIPsWith @ false @ @ @", "NodeIPsWith @",
		"index (NodeIPsWith @) @", "len (PodIPsWith @ false @ @ @)", "len @", "not @", "eq @ @", "eq @ @ @", "ne @ @", "lt @ @", "le @ @", "gt @ @", "ge @ @", "list @ @", `dict "c" @`,
		"(index .list 1).a", "(or @ @).c", "upper @", "default @ @", "randInt 1 9", "until 3", "keys .b", "printf \"%v %d\" @ @", "YAML @", "NodeConditions", "mine @", "ours 1 @")
	text += g.one("", "", "", " | Quote", " | Quote", " | Quote | Quote", " | or .nope", " | index .list", " | printf \"%v\"", " | print 1", " | NodeIPWith", " | and @", " | eq @", " | add (randInt 1 9)", " | printf \"%v\" (randInt 1 9)", " | mine")
	for strings.Contains(text, "@") {
		text = strings.Replace(text, "@", g.operand(), 1)
	}
	return text
}

func (g *generator) tamePipeline() string {
	text := g.one("@", "@", "@", "Now", "Quote @", "or @ @", "and @ @", "not @", "index .list 1", `index . "a"`, "NodeIPWith .a", "len .list", `eq .a "a" "b"`, "ne .number 2",
		"lt .number 2", "list @ @", `dict "c" @`, "default @ @", "printf \"%v\" @", "YAML @", "mine @", "NodeConditions", "randInt 1 9", `add 1 .number`)
	text += g.one("", "", "", " | Quote", " | Quote | Quote", " | or .nope", " | and .a", " | printf \"%v\" (randInt 1 9)", " | mine")
	for strings.Contains(text, "@") {
		text = strings.Replace(text, "@", g.operand(), 1)
	}
	return text
}

func (g *generator) nodes(depth int) string {
	var b strings.Builder
	mark := len(g.variables)
	for range 1 + g.IntN(4) {
		b.WriteString(g.one("", "", " ", "text\n", "a: ", strings.Repeat("long ", 9)))
		b.WriteString(g.node(depth))
	}
	g.variables = g.variables[:mark]
	return b.String()
}

func (g *generator) node(depth int) string {
	kind := g.IntN(9)
	if depth == 0 {
		kind = g.IntN(7)
	}
	switch kind {
	case 5:
		name := fmt.Sprintf("$v%d", g.IntN(30))
		text := fmt.Sprintf("{{ %s := %s }}", name, g.pipeline())
		g.variables = append(g.variables, name)
		return text
	case 6:
		return fmt.Sprintf("{{ %s = %s }}", g.one(g.variables...), g.pipeline())
	case 7:
		return g.loop(depth - 1)
	case 8:
		return g.branch(depth - 1)
	}
	return "{{ " + g.pipeline() + " }}"
}

func (g *generator) branch(depth int) string {
	pipe, mark := g.pipeline(), len(g.variables)
	switch g.IntN(4) {
	case 0:
		name := fmt.Sprintf("$b%d", g.IntN(30))
		pipe = name + " := " + pipe
		g.variables = append(g.variables, name)
	case 1:
		pipe = g.one(g.variables...) + " = " + pipe
	}
	defer func() { g.variables = g.variables[:mark] }()
	return fmt.Sprintf("{{ %s %s }}%s{{ else }}%s{{ end }}", g.one("if", "with"), pipe, g.nodes(depth), g.nodes(depth))
}

func (g *generator) loop(depth int) string {
	over := g.one(".list", ".list", ".a", ".b", ".b.c", ".nope", ".nope.a", "$.list", ".number", g.pipeline())
	if g.tame {
		over = g.one("$.list", "$.list", "$.b", "$.nope", "until 2", "keys $.b", "list @ @", "NodeConditions", "NodeIPsWith .a", `PodIPsWith "" false "" .a "b"`)
		over = strings.NewReplacer("@", g.operand()).Replace(over)
	}
	body := g.one("", "{{ break }}", "{{ continue }}", "", "", "")
	if g.IntN(2) == 0 {
		return fmt.Sprintf("{{ range %s }}%s%s{{ else }}%s{{ end }}", over, g.nodes(depth), body, g.nodes(depth))
	}
	mark := len(g.variables)
	g.variables = append(g.variables, "$i", "$e")
	defer func() { g.variables = g.variables[:mark] }()
	return fmt.Sprintf("{{ range $i, $e := %s }}%s%s{{ end }}", over, body, g.nodes(depth))
}

// users are functions as users may have them.
func users() map[string]any {
	return map[string]any{
		"mine": func(list ...any) []any { return list },
		"ours": func(f float64, s fmt.Stringer) (any, error) { return f, errors.New("never") },
	}
}

// things are values that objects are made of.
func things(g *generator) map[string]any {
	if g.tame {
		return map[string]any{
			"a": g.one("a", "b", "", "<b>"), "b": map[string]any{"c": g.one("deep", "")}, "nil": nil, "number": int64(g.IntN(4)), "share": 0.5,
			"list": []any{map[string]any{"a": "A", "number": int64(7)}, map[string]any{"a": g.one("a", ""), "list": []any{"x"}, "b": map[string]any{"c": true}}},
		}
	}
	pick := func() any {
		return []any{nil, "a", "<b>", "", "text\nof \"lines\"", true, false, int64(3), int64(0), 2.5, 1e30, json.Number("7"), map[string]string{"c": "typed"},
			map[string]any{"c": "deep", "b": "x"}, map[string]any{"c": map[string]any{"d": int64(7)}}, []any{"a", int64(1), nil}, []string{"typed"}, []any{}, 0.0, map[string]string{}}[g.IntN(20)]
	}
	return map[string]any{
		"a": pick(), "b": pick(), "nil": nil, "number": int64(g.IntN(4)), "share": 0.5,
		"list": []any{pick(), map[string]any{"a": pick(), "b": pick()}, pick()},
	}
}

func sameForSeed(t *testing.T, seed uint64) {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0)), variables: []string{"$"}, tame: seed%2 == 0}
	text := g.nodes(3)
	if g.IntN(4) == 0 {
		text = `{{ define "t" }}` + g.nodes(1) + `{{ end }}` + text + `{{ template "t" ` + g.one(".", ".b", "$.nope") + ` }}`
	}
	if g.IntN(8) == 0 {
		text += `{{ define "u" }}{{ $v := . }}{{ range .list }}{{ template "u" . }}{{ $v.a }}{{ end }}{{ end }}{{ template "u" . }}`
	}
	if g.IntN(8) == 0 {
		text += `{{ $_ := set $ "a" "changed" }}{{ .a }}`
	}
	var inputs []Input
	for range 4 {
		inputs = append(inputs, Input{Object: things(g), Env: unsteadyEnv{}})
	}
	o := Options{MissingKeyError: g.IntN(4) == 0, Steps: 100_000}
	if g.IntN(4) == 0 {
		o.Steps = 1 + g.IntN(300)
	}
	if g.IntN(8) == 0 {
		o.Output = 1 + g.IntN(100)
	}
	o.Funcs = users()
	if g.IntN(8) == 0 {
		o.Funcs = map[string]any{g.one("Quote", "or", "index", "NodeIPWith"): func(list ...any) string { return fmt.Sprint("mine", list) }}
	}
	sameRenderings(t, text, o, inputs...)
}

func TestPrograms(t *testing.T) {
	for seed := range uint64(effort.Of(4_000)) {
		sameForSeed(t, seed)
	}
}

func FuzzProgram(f *testing.F) {
	f.Add(`a: {{ .a | Quote }}{{ range .list }} {{ .a }} {{ or .b .a "x" | Quote }}{{ end }}`, uint64(0))
	f.Add(`{{ $o := index .list 0 }}{{ NodeIPWith .a }}{{ with .nope }}{{ $o = . }}{{ end }}`, uint64(1))
	f.Add(`{{ define "t" }}{{ if . }}{{ template "t" .b }}{{ else }}{{ ($x := 1) }}{{ end }}{{ end }}{{ template "t" . }}`, uint64(2))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
		o := Options{Steps: 10_000, MissingKeyError: seed%2 == 1, Funcs: users()}
		sameRenderings(t, text, o, Input{Object: things(g), Seed: seed})
		sameForSeed(t, seed)
	})
}

// TestNatives holds every native against the function of text/template, with every pair of
// arguments.
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
	same := func(format string, args ...any) {
		sameRenderings(t, fmt.Sprintf(format, args...), Options{}, Input{Object: o})
	}
	names := append(slices.Sorted(maps.Keys(natives)), "and", "or")
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, "_") })
	for _, name := range effort.Some(names) {
		for _, a := range operands {
			same("{{ %s }}{{ %[1]s %s }}", name, a)
			same("{{ %s %s }}", name, a)
			for _, b := range operands {
				same("{{ %s %s %s }}", name, a, b)
				same("{{ if %s | %s %s }}yes{{ end }}", a, name, b)
			}
		}
	}
}

// TestProgramsAreCertain checks that the programs of usual templates do not give up.
func TestProgramsAreCertain(t *testing.T) {
	in := Input{Env: placeholder{}, Object: map[string]any{
		"name": "web", "null": nil, "n": int64(3), "f": 1.5, "map": map[string]any{"b": "B", "a": "A"},
		"list": []any{map[string]any{"image": "nginx"}, map[string]any{"image": "httpd", "on": true}},
	}}
	for text, want := range map[string]string{
		``:     ``,
		`a: 1`: `a: 1`,
		`{{ .name }} {{ .nope }} {{ .n }} {{ .f }}`:                                                                                                                   `web <no value> 3 1.5`,
		`{{ $n := .name }}{{ $n }}{{ $n = 1 }}{{ $n }}`:                                                                                                               `web1`,
		`{{ $unused := index .list 0 }}{{ .name | Quote }}`:                                                                                                           `"web"`,
		`{{ range .list }}{{ .image | Quote }}{{ end }}`:                                                                                                              `"nginx""httpd"`,
		`{{ range $i, $e := .list }}{{ $o := index $.list $i }}{{ $i }}{{ $e.image }}{{ end }}`:                                                                       `0nginx1httpd`,
		`{{ range $k, $v := .map }}{{ $k }}{{ $v }}{{ break }}{{ else }}none{{ end }}`:                                                                                `aA`,
		`{{ range .nope }}{{ .a }}{{ else }}none{{ end }}`:                                                                                                            `none`,
		`{{ range .list }}{{ if .on }}{{ continue }}{{ end }}{{ range $.list }}{{ .image }}{{ end }};{{ end }}`:                                                       `nginxhttpd;`,
		`{{ with .map }}{{ .a }}{{ else }}{{ .name }}{{ end }}{{ with $x := .nope }}{{ $x }}{{ else }}{{ .name }}{{ end }}`:                                           `Aweb`,
		`{{ if and .name (eq .name "cache" "web") (not .nope) }}yes{{ else if .n }}no{{ end }}`:                                                                       `yes`,
		`{{ if gt (len .list) 1 }}{{ (index .list 1).image }}{{ end }}`:                                                                                               `httpd`,
		`{{ $none := .nope }}{{ or $none.a $none.b "none" }}`:                                                                                                         `none`,
		`{{ range list "a" "b" }}{{ . }}{{ end }}{{ upper .name }}{{ .name | trunc 2 }}`:                                                                              `abWEBwe`,
		`{{ $d := dict "k" 1 }}{{ $d.k }}{{ range until 3 }}{{ . }}{{ end }}{{ printf "%03d" .n }}`:                                                                   `1012003`,
		`{{ YAML .map }}{{ default "x" .nope }}{{ add 1 (len .list) | toString | Quote }}`:                                                                            "a: A\nb: B\nx\"3\"",
		`{{ with NodeIPsWith .name }}{{ index . 0 | Quote }}{{ len . }}{{ range . }}{{ . }}{{ end }}{{ end }}`:                                                        `"10.0.0.1"110.0.0.1`,
		`{{ NodeIPWith .name | Quote }} {{ PodIPWith .name (or .host false) (or .uid "") "a" "" | Quote }}`:                                                           `"10.0.0.1" "10.156.217.45"`,
		`{{ define "t" }}<{{ . }}{{ template "u" $ }}>{{ end }}{{ define "u" }}{{ $x := . }}{{ $x }}{{ end }}{{ range until 2 }}{{ template "t" . }}{{ end }}`:        `<00><11>`,
		`{{ define "t" }}{{ .image }}{{ with .next }}{{ template "t" . }}{{ .image }}{{ end }}{{ end }}{{ template "t" dict "image" "a" "next" (dict "image" "b") }}`: `abb`,
		`{{ $x := 1 }}{{ range .list }}{{ range $.list }}{{ break }}{{ end }}{{ $x = .image }}{{ end }}{{ $x }}`:                                                      `httpd`,
		`{{ keys .map }}{{ until 2 }}{{ .map }}`:                                                                                                                      `[a b][0 1]map[a:A b:B]`,
	} {
		require.Equal(t, want, byProgram(t, text, in))
	}
}

// byProgram renders without text/template.
func byProgram(t *testing.T, text string, in Input) string {
	t.Helper()
	tmpl, err := Compile(text, Options{})
	require.NoError(t, err)
	require.NotNil(t, tmpl.program, text)
	s := tmpl.newState()
	require.NoError(t, s.attempt(in, s.runProgram), text)
	return string(s.out)
}

// TestPresetsAreCertain checks that the programs of the preset templates do not give up.
func TestPresetsAreCertain(t *testing.T) {
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
				byProgram(t, text, Input{Env: placeholder{}, Object: pod})
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

// TestNoProgram checks which templates text/template renders from the beginning.
func TestNoProgram(t *testing.T) {
	for _, text := range []string{
		`{{ template "nope" . }}`,
		`{{ template "_" ($x := .) }}`,
		`{{ $x := 0 }}{{ range $x = .list }}{{ end }}`,
		`{{ if .a }}{{ $x := 1 }}{{ else }}{{ $x }}{{ end }}`,
		`{{ $x := 1 }}{{ ($x = 2) }}{{ $x }}`,
		`{{ or 1 ($x := 2) }}{{ $x }}`,
		`{{ 'a' }}`,
		`{{ call .a }}`,
		`{{ set . "a" 1 }}`,
	} {
		tmpl, err := Compile(text, Options{})
		require.NoError(t, err)
		require.Nil(t, tmpl.program, text)
	}
}

// TestDeepTemplateCalls checks that text/template executes template calls that are too deep for a
// program, and that its limits end them.
func TestDeepTemplateCalls(t *testing.T) {
	const text = `{{ define "t" }}{{ if gt . 0 }}{{ template "t" (add . -1) }}{{ else }}end{{ end }}{{ end }}{{ template "t" .n }}`
	for n, want := range map[int64]bool{maxDepth / 2: true, 2 * maxDepth: true, 20 * maxDepth: false} {
		tmpl, err := Compile(text, Options{})
		require.NoError(t, err)
		got, err := tmpl.Text(Input{Object: map[string]any{"n": n}})
		require.Equal(t, want, got == "end")
		require.Equal(t, !want, errors.Is(err, ErrLimit))
	}
}
