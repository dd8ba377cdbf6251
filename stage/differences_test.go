package stage_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage"
)

// TestDifferences checks the intended differences from kwok. The table of COMPATIBILITY.md names
// these cases.
func TestDifferences(t *testing.T) {
	const always = "  selector: {}\n"
	first := func(t *testing.T, set *stage.Set, annotations, status string) stage.Candidate {
		c := set.Candidates(pod(t, annotations, status), start)
		require.NotEmpty(t, c)
		return c[0]
	}

	t.Run("api-group", func(t *testing.T) {
		require.Equal(t, []string{"a"}, names(compile(t, stageYAML("a", always)), pod(t, "{}", "{}")))
	})
	t.Run("cel-error", func(t *testing.T) {
		set := compile(t,
			stageYAML("broken", "  selector: {matchExpressions: [{cel: {expression: self.status.podIP != '1'}}]}"),
			stageYAML("sound", always+"  weight: 1"),
			stageYAML("broken-weight", always+"  weightFrom: {cel: {expression: self.status.weight}}"))
		require.Equal(t, []string{"sound", "broken-weight"}, names(set, pod(t, "{}", "{}")))
		require.Zero(t, set.Candidates(pod(t, "{}", "{}"), start)[1].Probability)
	})
	t.Run("number-in", func(t *testing.T) {
		set := compile(t, stageYAML("a", "  selector: {matchExpressions: [{key: .spec.replicas, operator: In, values: ['3']}]}"))
		require.Equal(t, []string{"a"}, names(set, pod(t, "{}", "{}")))
	})
	t.Run("cel-map", func(t *testing.T) {
		set := compile(t, stageYAML("a", "  selector: {matchExpressions: [{cel: {expression: \"self.kind == 'Pod' && self.status.conditions.exists(c, c.type == 'Ready')\"}}]}"))
		require.Equal(t, []string{"a"}, names(set, pod(t, "{}", "{conditions: [{type: Ready}]}")))
	})
	t.Run("negative-weight", func(t *testing.T) {
		set := compile(t,
			stageYAML("a", always+"  weight: 1\n  weightFrom: {expressionFrom: '.metadata.annotations.w'}"),
			stageYAML("b", always+"  weight: 1"))
		c := set.Candidates(pod(t, "{w: '-10'}", "{}"), start)
		require.Equal(t, []float64{0, 1}, []float64{c[0].Probability, c[1].Probability})
	})
	t.Run("integer-weight", func(t *testing.T) {
		c := first(t, compile(t, stageYAML("a", always+"  weightFrom: {expressionFrom: '.metadata.name | length'}")), "{}", "{}")
		require.EqualValues(t, 3, c.Weight)
	})
	t.Run("cel-jitter", func(t *testing.T) {
		c := first(t, compile(t, stageYAML("a", always+"  delay: {durationMilliseconds: 1000, jitterDurationFrom: {cel: {expression: duration('5s')}}}")), "{}", "{}")
		require.Equal(t, "[1s, 5s)", c.Delay.String())
	})
	t.Run("cel-timestamp", func(t *testing.T) {
		c := first(t, compile(t, stageYAML("a", always+"  delay: {durationFrom: {cel: {expression: timestamp('2006-01-02T15:05:05Z')}}}")), "{}", "{}")
		require.Equal(t, time.Minute, c.Delay.Min)
	})
	t.Run("delay-error", func(t *testing.T) {
		c := first(t, compile(t, stageYAML("a", always+"  delay: {durationMilliseconds: 1500, durationFrom: {cel: {expression: self.status.nope}}}")), "{}", "{}")
		require.Equal(t, 1500*time.Millisecond, c.Delay.Min)
	})
	t.Run("delete-wins", func(t *testing.T) {
		set := compile(t, stageYAML("a", always+"  next: {event: {type: Normal, reason: R, message: m}, statusTemplate: 'a: 1', delete: true}"))
		require.Equal(t, []string{`event Normal R "m"`, "delete"}, effects(t, set, pod(t, "{}", "{}")))
	})
	t.Run("finalizers", func(t *testing.T) {
		set := compile(t, stageYAML("a", always+"  steps: [{finalizers: {add: [{value: x}, {value: x}]}}, {finalizers: {add: [{value: x}], remove: [{value: z}]}}]"))
		require.Equal(t, []string{`patch json [{"op":"add","path":"/metadata/finalizers","value":["x"]}]`}, effects(t, set, pod(t, "{}", "{}")))
		set = compile(t, stageYAML("a", always+"  steps: [{finalizers: {add: [{value: x}], remove: [{value: x}]}}]"))
		kept := pod(t, "{}", "{}")
		kept.SetFinalizers([]string{"x"})
		require.Empty(t, effects(t, set, kept))
	})
	t.Run("json-from", func(t *testing.T) {
		set := compile(t, stageYAML("a", always+"  steps: [{patch: {type: json, root: a/b, template: '[{op: move, from: /x, path: /y}]'}}]"))
		require.Equal(t, []string{`patch json [{"from":"/a~1b/x","op":"move","path":"/a~1b/y"}]`}, effects(t, set, pod(t, "{}", "{}")))
	})
	t.Run("empty-template", func(t *testing.T) {
		set := compile(t, stageYAML("a", always+"  next: {statusTemplate: '{{ if .spec.none }}a: 1{{ end }}'}"))
		require.Empty(t, effects(t, set, pod(t, "{}", "{}")))
	})
	t.Run("template-numbers", func(t *testing.T) {
		set := compile(t, stageYAML("a", always+"  next: {statusTemplate: 'three: {{ eq .spec.replicas 3 }}, text: {{ printf \"%03d\" .spec.replicas | Quote }}'}"))
		_, err := set.Candidates(pod(t, "{}", "{}"), start)[0].Transition(0).Effects(pod(t, "{}", "{}"), start)
		require.Error(t, err, "a flow without braces is no YAML")
		set = compile(t, stageYAML("a", always+"  next: {statusTemplate: '{three: {{ eq .spec.replicas 3 }}, text: {{ printf \"%03d\" .spec.replicas | Quote }}}'}"))
		require.Equal(t, []string{`patch strategic /status {"status":{"text":"003","three":true}}`}, effects(t, set, pod(t, "{}", "{}")))
	})
	t.Run("cel-weight", func(t *testing.T) {
		_, err := stage.Compile(stage.Options{}, stage.Parse("s.yaml", []byte(stageYAML("a", always+"  weightFrom: {cel: {expression: duration('5s')}}"))))
		require.ErrorContains(t, err, "the result is google.protobuf.Duration, not bool, int, uint or double")
	})
	t.Run("heavy-weight", func(t *testing.T) {
		c := first(t, compile(t, stageYAML("a", always+"  weightFrom: {expressionFrom: .metadata.annotations.w}")), "{w: '9223372036854775807'}", "{}")
		require.EqualValues(t, 1<<40, c.Weight)
	})
	t.Run("cel-text", func(t *testing.T) {
		set := compile(t, stageYAML("a", always+"  delay: {durationMilliseconds: 7, durationFrom: {cel: {expression: self.metadata.annotations.d}}}"))
		require.Equal(t, time.Minute, first(t, set, "{d: '2006-01-02T15:05:05Z'}", "{}").Delay.Min)
		require.False(t, first(t, set, "{d: ''}", "{}").Delay.Given)
	})
	t.Run("quantities", func(t *testing.T) {
		set := compile(t, stageYAML("a", "  selector: {matchExpressions: [{cel: {expression: \"!(Quantity('1Gi') < Quantity('1Mi'))\"}}]}"))
		require.Equal(t, []string{"a"}, names(set, pod(t, "{}", "{}")))
	})
	t.Run("big-integers", func(t *testing.T) {
		set := compile(t, stageYAML("a", "  selector: {matchExpressions: [{key: .status.big, operator: In, values: ['9007199254740993']}]}"))
		require.Equal(t, []string{"a"}, names(set, pod(t, "{}", "{big: 9007199254740993}")))
		require.Empty(t, names(set, pod(t, "{}", "{big: 9007199254740992}")))
	})
	t.Run("patch-shape", func(t *testing.T) {
		for _, patch := range []string{"type: merge, template: '[1]'", "type: json, template: 'a: 1'", "type: json, template: '[{op: add, value: 1}]'"} {
			set := compile(t, stageYAML("a", always+"  steps: [{patch: {"+patch+"}}]"))
			_, err := set.Candidates(pod(t, "{}", "{}"), start)[0].Transition(0).Effects(pod(t, "{}", "{}"), start)
			var eval *stage.Error
			require.ErrorAs(t, err, &eval)
		}
	})
	t.Run("jq-surroundings", func(t *testing.T) {
		for _, program := range []string{"env.HOME", "$ENV.HOME", "input", "import \"a\" as a; .x"} {
			_, err := stage.Compile(stage.Options{}, stage.Parse("s.yaml", []byte(stageYAML("a", "  selector: {matchExpressions: [{key: '"+program+"', operator: Exists}]}"))))
			require.Error(t, err, program)
		}
	})
	t.Run("no-env", func(t *testing.T) {
		_, err := stage.Compile(stage.Options{}, stage.Parse("s.yaml", []byte(stageYAML("a", always+"  next: {statusTemplate: '{{ env \"HOME\" }}'}"))))
		require.ErrorContains(t, err, `function "env" not defined`)
	})
}

// TestDifferencesArePinned checks that each test exists that the table of COMPATIBILITY.md names.
func TestDifferencesArePinned(t *testing.T) {
	doc, err := os.ReadFile("../COMPATIBILITY.md")
	require.NoError(t, err)
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	ofPlayer, err := filepath.Glob("player/*_test.go")
	require.NoError(t, err)
	var tests strings.Builder
	for _, f := range append(files, ofPlayer...) {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		tests.Write(text)
	}
	rows := regexp.MustCompile(`(?m)^\| .* \| (Test\w+)(?:/([\w-]+))? \|$`).FindAllStringSubmatch(string(doc), -1)
	require.Greater(t, len(rows), 20)
	for _, row := range rows {
		require.Contains(t, tests.String(), "func "+row[1]+"(", row[0])
		if row[2] != "" {
			require.Contains(t, tests.String(), `t.Run("`+row[2]+`"`, row[0])
		}
	}
}
