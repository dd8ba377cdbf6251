package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// without compiles a template that has no passages.
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

func renderedBy(t *Template, in Input) rendered {
	r := t.newRun()
	err := r.execute(in)
	if err == nil {
		return rendered{text: string(r.out), left: r.left}
	}
	fault := t.fault(err)
	return rendered{fault: fault.Error(), limit: errors.Is(fault, ErrLimit)}
}

func samePassages(t *testing.T, text string, in Input, o Options) {
	t.Helper()
	slow, err := without(text, o)
	if err != nil {
		return
	}
	fast, err := Compile(text, o)
	require.NoError(t, err)
	want, got := renderedBy(slow, in), renderedBy(fast, in)
	require.Equal(t, want, got, "%s\n%v\n%+v", text, in.Object, o)
	require.Equal(t, got, renderedBy(fast, in), "twice: %s", text)
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

// A scribe writes templates out of what passages are made of and what they give up on.
type scribe struct {
	*rand.Rand
	variables []string
}

func (s *scribe) one(list ...string) string { return list[s.IntN(len(list))] }

func (s *scribe) operand() string {
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
	text := s.one("@", "@", "@", "@", "Now", "Quote @", "or @ @", "or @ @ @", "index @ @", "index .list 1", "NodeIPWith @", "PodIPWith @ false @ @ @", "len @", "eq @ @")
	text += s.one("", "", "", " | Quote", " | Quote", " | Quote | Quote", " | or .nope", " | index .list", " | printf \"%v\"", " | print 1", " | NodeIPWith")
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
		return fmt.Sprintf("{{ %s %s }}%s{{ else }}%s{{ end }}", s.one("if", "with"), s.pipeline(), s.nodes(depth-1), s.nodes(depth-1))
	}
	return "{{ " + s.pipeline() + " }}"
}

func (s *scribe) loop(depth int) string {
	over := s.one(".list", ".list", ".a", ".b", ".b.c", ".nope", ".nope.a", "$.list", ".number", s.pipeline())
	body := s.one("", "{{ break }}", "{{ continue }}", "", "", "")
	if s.IntN(2) == 0 {
		return fmt.Sprintf("{{ range %s }}%s%s{{ else }}%s{{ end }}", over, s.nodes(depth), body, s.nodes(depth))
	}
	mark := len(s.variables)
	s.variables = append(s.variables, "$i", "$e")
	defer func() { s.variables = s.variables[:mark] }()
	return fmt.Sprintf("{{ range $i, $e := %s }}%s%s{{ end }}", over, body, s.nodes(depth))
}

// things are values that objects are made of.
func things(s *scribe) map[string]any {
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
	s := &scribe{Rand: rand.New(rand.NewPCG(seed, 0)), variables: []string{"$"}}
	text := s.nodes(3)
	if s.IntN(8) == 0 {
		text = `{{ define "t" }}` + s.nodes(1) + `{{ end }}` + text + `{{ template "t" . }}`
	}
	if s.IntN(8) == 0 {
		text += `{{ $_ := set $ "a" "changed" }}{{ .a }}`
	}
	in := Input{Object: things(s), Env: fussy{}}
	o := Options{Strict: s.IntN(4) == 0, Steps: 100_000}
	if s.IntN(4) == 0 {
		o.Steps = 1 + s.IntN(300)
	}
	if s.IntN(8) == 0 {
		o.Output = 1 + s.IntN(100)
	}
	if s.IntN(8) == 0 {
		o.Funcs = map[string]any{s.one("Quote", "or", "index", "NodeIPWith"): func(list ...any) string { return fmt.Sprint("mine", list) }}
	}
	samePassages(t, text, in, o)
}

func TestPassages(t *testing.T) {
	for seed := range uint64(4_000) {
		sameForSeed(t, seed)
	}
}

func FuzzPassages(f *testing.F) {
	f.Add(`a: {{ .a | Quote }}{{ range .list }} {{ .a }} {{ or .b .a "x" | Quote }}{{ end }}`, uint64(0))
	f.Add(`{{ $o := index .list 0 }}{{ NodeIPWith .a }}{{ with .nope }}{{ $o = . }}{{ end }}`, uint64(1))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		s := &scribe{Rand: rand.New(rand.NewPCG(seed, 1))}
		samePassages(t, text, Input{Object: things(s), Seed: seed}, Options{Steps: 10_000, Strict: seed%2 == 1})
		sameForSeed(t, seed)
	})
}

// TestPassagesAreFound holds that the usual parts of templates become passages that are written without text/template.
func TestPassagesAreFound(t *testing.T) {
	in := Input{Object: map[string]any{"name": "web", "list": []any{map[string]any{"image": "nginx"}}}, Env: placeholder{}}
	for text, want := range map[string]struct {
		passages int
		text     string
	}{
		`a: 1`:                      {0, `a: 1`},
		`{{ .name }}`:               {1, `web`},
		`{{ $n := .name }}{{ $n }}`: {1, `web`},
		`{{ $unused := index .list 0 }}{{ .name | Quote }}`:                                                                          {1, `"web"`},
		`{{ range .list }}{{ .image | Quote }}{{ end }}`:                                                                             {1, `"nginx"`},
		`{{ range $i, $e := .list }}{{ $o := index $.list $i }}{{ $e.image }}{{ end }}`:                                              {1, `nginx`},
		`{{ NodeIPWith .name | Quote }} {{ PodIPWith .name (or .host false) (or .uid "") "a" "" | Quote }}`:                          {1, `"10.0.0.1" "10.156.217.45"`},
		`{{ upper .name }}{{ .name }}`:                                                                                               {1, `WEBweb`},
		`{{ $a := 1 }}{{ $b := 2 }}{{ $c := 3 }}{{ $d := 4 }}{{ $a }}{{ $b }}{{ $c }}{{ $d }}{{ range .list }}{{ .image }}{{ end }}`: {2, `1234nginx`},
		`{{ $x := .name }}{{ .name }}{{ $x = upper .name }}`:                                                                         {1, `web`},
		`{{ $a := 1 }}{{ $b := 2 }}{{ $c := 3 }}{{ $d := 4 }}{{ $a }}{{ $b }}{{ $c }}{{ $d }}{{ .name }}{{ $a }}`:                    {2, `1234web1`},
	} {
		tmpl, err := Compile(text, Options{})
		require.NoError(t, err)
		require.Len(t, tmpl.passages, want.passages, text)
		r := tmpl.newRun()
		require.NoError(t, r.execute(in))
		require.Equal(t, want.text, string(r.out), text)
		for _, p := range tmpl.passages {
			require.NotEmpty(t, p.parts)
		}
	}
}

// TestPassagesPayForLoops shows what becomes of a template.
func TestPassagesPayForLoops(t *testing.T) {
	tmpl, err := Compile(`{{ .name }}: {{ range .list }}{{ .image }}{{ end }}`, Options{})
	require.NoError(t, err)
	const body = `{{if passage_1 .}}{{else}}{{.image}}{{end}}`
	require.Equal(t, `{{if passage_0 .}}{{range .list}}`+body+`{{end}}{{else}}{{.name}}: {{range .list | range_}}`+body+`{{end}}{{end}}`, tmpl.root.Root.String())
}
