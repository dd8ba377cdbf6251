package position_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/position"
)

const text = `# a comment
kind: A
spec:
  plain: .status.phase ||
  quoted: 'it''s .x'
  double: "a\n\"b\" c"
  folded: >-
    one two
    three
---
{"kind": "B", "list": [{"x": 1}]}
---
kind: C
template: |
    first
      {{ second }}

    third
labels:
  a/b: c
---
kind: D
kind: E
`

func parse(t *testing.T, s string) []*position.Document {
	t.Helper()
	docs, faults := position.Parse("f.yaml", []byte(s))
	require.Empty(t, faults)
	return docs
}

func TestLocateFindsFieldsAndTokensInsideThem(t *testing.T) {
	docs := parse(t, text)
	require.Len(t, docs, 4)
	for _, tc := range []struct {
		doc    int
		path   string
		offset int
		want   string
	}{
		{0, "spec.plain", -1, "f.yaml:4:10"},
		{0, "spec.plain", position.AtKey, "f.yaml:4:3"},
		{0, "spec.plain", 14, "f.yaml:4:24"},
		{0, "spec.quoted", 5, "f.yaml:5:18"},
		{0, "spec.double", 3, "f.yaml:6:17"},
		{0, "spec.folded", 8, "f.yaml:9:5"},
		{0, "spec.folded", 4, "f.yaml:8:9"},
		{0, "spec.missing.deep", -1, "f.yaml:3:1"},
		{0, "spec", -1, "f.yaml:3:1"},
		{0, "", -1, "f.yaml:2:1"},
		{1, "list[0].x", -1, "f.yaml:11:30"},
		{2, "template", 8, "f.yaml:16:7"},
		{2, "template", 22, "f.yaml:18:5"},
		{2, `labels["a/b"]`, -1, "f.yaml:20:8"},
	} {
		e := &position.Error{Path: tc.path, Offset: tc.offset, Err: errors.New("x")}
		require.Equal(t, tc.want, docs[tc.doc].Locate(e).String(), "%s+%d", tc.path, tc.offset)
	}
}

func TestLocateCountsEscapesAndLetters(t *testing.T) {
	doc := parse(t, "a: \"\\u002ea\\\n   | foo(\"\nb: 'é, ü | x'\nc: \"\\x41\\U0001F600\\t|\"\nfoo(: d\n")[0]
	for path, want := range map[string]string{"a": "f.yaml:2:6", "b": "f.yaml:3:12", "c": "f.yaml:4:21"} {
		value := doc.Value.(map[string]any)[path].(string)
		offset := strings.Index(value, "|")
		if path == "a" {
			offset = strings.Index(value, "foo")
		}
		e := &position.Error{Path: path, Offset: offset, Err: errors.New("x")}
		require.Equal(t, want, doc.Locate(e).String(), "%q", value)
	}
}

func TestAliasesThatExplodeAreRefused(t *testing.T) {
	text := "a: &a " + strings.Repeat("x", 100_000) + "\nb: [" + strings.Repeat("*a, ", 1000) + "]\n"
	_, faults := position.Parse("f.yaml", []byte(text))
	require.Len(t, faults, 1)
	require.ErrorContains(t, faults[0].Err, "aliases")
}

func TestTheExactNameWinsOverOneInAnotherCase(t *testing.T) {
	for range 20 {
		var into target
		require.Len(t, parse(t, "Count: 1\ncount: 2\nCOUNT: 3\n")[0].Decode(&into), 2)
		require.Equal(t, 2, *into.Count)
	}
}

func TestSyntaxErrorsNameTheLineOfTheFault(t *testing.T) {
	for text, want := range map[string]string{
		"a:\n  b:\n    c: 1\n   d: 2\n":     "f.yaml:4:4",
		"a:\n  b: c\n    d: 1\n":            "f.yaml:3:5",
		"a: 1\nb:\n\tc: 1\n":                "f.yaml:3:1",
		"a: 1\n---\nb:\n- c\n  - d: [\n":    "f.yaml:5:3",
		"a:\n- b: 1\n  c: 2\n c: 3\nd: e\n": "f.yaml:4:2",
		"a: 'x\nb: c\n":                     "f.yaml:3:1",
		"a: {b: c\nd: e}\n":                 "f.yaml:2:1",
	} {
		_, faults := position.Parse("f.yaml", []byte(text))
		require.Len(t, faults, 1, text)
		require.Equal(t, want, faults[0].Position.String(), "%s: %s", text, faults[0].Err)
	}
}

func TestParseReportsEachUnreadableDocument(t *testing.T) {
	docs, faults := position.Parse("f.yaml", []byte("a: 1\n---\nb: [\n---\nc: 2\n---\n\td: e\n"))
	require.Len(t, docs, 2)
	require.Len(t, faults, 2)
	require.Equal(t, "document[1]", faults[0].Path)
	require.Contains(t, faults[0].Position.String(), "f.yaml:")
}

func TestJSONStreamsAreSplit(t *testing.T) {
	docs := parse(t, "{\"a\": 1}\n {\"b\": {\n\t\"c\": true}}")
	require.Len(t, docs, 2)
	e := &position.Error{Path: "b.c", Offset: -1, Err: errors.New("x")}
	require.Equal(t, "f.yaml:3:7", docs[1].Locate(e).String())
	e.Path = "b"
	require.Equal(t, "f.yaml:2:3", docs[1].Locate(e).String())
}

type target struct {
	Kind  string            `json:"kind"`
	Count *int              `json:"count"`
	Flags []bool            `json:"flags"`
	Tags  map[string]string `json:"tags"`
}

func TestDecodeReportsEveryFaultWithItsPath(t *testing.T) {
	doc := parse(t, "kind: yes\ncount: 1.5\nflags: [true, x]\ntags: {a: 1}\nother: 1\nTags: {b: c}\ncount: 2\n")[0]
	var into target
	var got []string
	for _, e := range doc.Decode(&into) {
		got = append(got, doc.Locate(e).String()+" "+e.Error())
	}
	require.Equal(t, []string{
		"f.yaml:7:1 count: the key is given twice",
		`f.yaml:6:1 Tags: unknown field; did you mean "tags"?`,
		`f.yaml:3:15 flags[1]: want true or false, got the string "x"`,
		"f.yaml:1:7 kind: want a string, got the boolean true; quote it",
		"f.yaml:5:1 other: unknown field",
		"f.yaml:4:11 tags.a: want a string, got the number 1; quote it",
	}, got)
	require.Equal(t, 2, *into.Count)
}

func TestFieldsThatAChartHasAreToBeRenderedFirst(t *testing.T) {
	doc := parse(t, "count: '{{ .Values.count }}'\nflags: ['{{ .spec.on }}']\n")[0]
	faults := doc.Decode(&target{})
	require.Len(t, faults, 2)
	require.EqualError(t, faults[0], `count: want an integer, got the string "{{ .Values.count }}"; render the chart first, with helm template`)
	require.EqualError(t, faults[1], `flags[0]: want true or false, got the string "{{ .spec.on }}"`)
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{text, "a: &a [*a]", "a: &x {b: *x}", "- ? [a]: b", "a: !!binary x", "{\"a\":1}{", "? a\n: b", "\ufeffa: 1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		breaks := len(s) - len(strings.NewReplacer("\n", "", "\r", "", "\u0085", "", "\u2028", "", "\u2029", "").Replace(s))
		docs, faults := position.Parse("f", []byte(s))
		for _, e := range faults {
			require.True(t, e.Position.IsValid())
			require.NotEmpty(t, e.Path)
		}
		for _, d := range docs {
			var into target
			for _, e := range d.Decode(&into) {
				for _, offset := range []int{-1, 0, 3, len(s)} {
					e.Offset = offset
					require.LessOrEqual(t, d.Locate(e).Line, breaks+2)
				}
			}
		}
	})
}

func TestFieldsThatBeginWithANameAreSuggestedByTheValue(t *testing.T) {
	type from struct{ Expression string }
	var into struct {
		Milliseconds       *int64 `json:"durationMilliseconds"`
		From               *from  `json:"durationFrom"`
		JitterMilliseconds *int64 `json:"jitterDurationMilliseconds"`
		JitterFrom         *from  `json:"jitterDurationFrom"`
	}
	for text, want := range map[string]string{
		"duration: 5": "durationMilliseconds", "duration: 5s": "durationMilliseconds", "duration: {a: b}": "durationFrom",
		"jitterDuration: 5": "jitterDurationMilliseconds", "jitterDuration: {}": "jitterDurationFrom", "DurationFrom: {}": "durationFrom",
		"durationMs: 5": "", "jitterDurationFrm: {}": "jitterDurationFrom",
	} {
		docs, faults := position.Parse("f.yaml", []byte(text))
		require.Empty(t, faults)
		found := docs[0].Decode(&into)
		require.Len(t, found, 1)
		if want == "" {
			require.EqualError(t, found[0].Err, "unknown field")
		} else {
			require.ErrorContains(t, found[0].Err, `did you mean "`+want+`"?`, text)
		}
	}
}

func TestChartsAreToBeRenderedFirst(t *testing.T) {
	for _, text := range []string{
		"metadata:\n  name: {{ .Release.Name }}\n", "a: b\n{{- if .Values.on }}\nc: d\n{{- end }}\n",
		"a: b\n{{- if and .Values.on (not $.Values.off) }}\nc: d\n{{- end }}\n", "a: {{ include \"chart.name\" . }}\n",
		"a:\n  {{- toYaml .a | nindent 4 }}\n", "a:\n  {{- $.Files.Get \"x\" | nindent 4 }}\n", "a: {{ printf \"%s-x\" (.Chart.Name) }}\n",
	} {
		_, faults := position.Parse("f.yaml", []byte(text))
		require.Len(t, faults, 1)
		require.ErrorContains(t, faults[0].Err, "render the chart first", text)
	}
	for _, text := range []string{"a: {{ .status.phase }}\n", "a: {{ .spec.Values.x }}\n", "a: {{ .metadata.includes }}\n"} {
		_, faults := position.Parse("f.yaml", []byte(text))
		require.NotContains(t, faults[0].Err.Error(), "chart", text)
	}
}
