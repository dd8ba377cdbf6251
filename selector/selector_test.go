package selector_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/selector"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

var now = time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC)

func parse(t testing.TB, text string) *v1alpha1.StageSelector {
	t.Helper()
	var s *v1alpha1.StageSelector
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), &s))
	return s
}

// web is the object of all cases. Whole numbers are int64, as an API client decodes them.
func web() map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{
			"name": "web", "creationTimestamp": "2006-01-02T15:04:00Z",
			"labels":      map[string]any{"app": "web", "empty": ""},
			"annotations": map[string]any{"example.com/mode": "fast"},
		},
		"spec": map[string]any{"replicas": int64(3), "ratio": 1.5, "big": int64(9007199254740993), "suspend": false},
		"status": map[string]any{
			"phase":      "Running",
			"message":    "",
			"conditions": []any{map[string]any{"type": "Ready", "status": "True"}, map[string]any{"type": "Fancy", "status": "False"}},
		},
	}
}

func TestMatch(t *testing.T) {
	jq := func(key, rest string) string { return "{matchExpressions: [{key: '" + key + "', " + rest + "}]}" }
	cel := func(x string) string { return `{matchExpressions: [{cel: {expression: "` + x + `"}}]}` }
	for _, tc := range []struct {
		name, selector string
		want           bool
	}{
		{"no selector matches nothing", "null", false},
		{"an empty selector matches everything", "{}", true},
		{"a label that is equal", "{matchLabels: {app: web}}", true},
		{"a label that differs", "{matchLabels: {app: db}}", false},
		{"an empty label that exists", "{matchLabels: {empty: ''}}", true},
		{"an empty label that does not exist", "{matchLabels: {none: ''}}", false},
		{"an annotation", "{matchAnnotations: {example.com/mode: fast}}", true},
		{"label and annotation are both required", "{matchLabels: {app: web}, matchAnnotations: {a: b}}", false},
		{"In with an equal string", jq(".status.phase", "operator: In, values: [Pending, Running]"), true},
		{"In without output", jq(".status.nope", "operator: In, values: [x]"), false},
		{"In with an integer", jq(".spec.replicas", "operator: In, values: ['3']"), true},
		{"In with an integer written otherwise", jq(".spec.replicas", "operator: In, values: ['03', '3.0']"), false},
		{"In with a fraction", jq(".spec.ratio", "operator: In, values: ['1.5']"), true},
		{"In with an integer beyond 2^53", jq(".spec.big", "operator: In, values: ['9007199254740993']"), true},
		{"In with its neighbour beyond 2^53", jq(".spec.big", "operator: In, values: ['9007199254740992']"), false},
		{"In with a zero that is a float", jq("1.5 - 1.5", "operator: In, values: ['0']"), true},
		{"In with a minus zero", jq("1.5 - 1.5", "operator: In, values: ['-0']"), false},
		{"In with a bool", jq(".spec.suspend", "operator: In, values: ['false']"), true},
		{"In with a computed number", jq(".status.conditions | length", "operator: In, values: ['2']"), true},
		{"In with one of several outputs", jq(".status.conditions.[].type", "operator: In, values: [Fancy]"), true},
		{"In after a failure", jq(".metadata.name, .metadata.name.x", "operator: In, values: [web]"), false},
		{"NotIn with an equal string", jq(".status.phase", "operator: NotIn, values: [Running]"), false},
		{"NotIn after a failure", jq(".status.nope.[].x", "operator: NotIn, values: [x]"), true},
		{"Exists with an empty string", jq(".status.message", "operator: Exists"), true},
		{"Exists with false", jq(".spec.suspend", "operator: Exists"), true},
		{"Exists with null", jq(".status.nope", "operator: Exists"), false},
		{"DoesNotExist with null", jq(".status.nope", "operator: DoesNotExist"), true},
		{"DoesNotExist after a failure", jq(".status.phase.x", "operator: DoesNotExist"), true},
		{"select with a comparison", jq(".status.conditions.[] | select(.type == \"Ready\") | .status", "operator: In, values: ['True']"), true},
		{"a quoted key", jq(".metadata.annotations.\"example.com/mode\"", "operator: In, values: [fast]"), true},
		{"now reads the given time", jq("now | todate", "operator: In, values: ['2006-01-02T15:04:05Z']"), true},
		{"the new form of jq", "{matchExpressions: [{jq: {key: .status.phase, operator: Exists}}]}", true},
		{"true in CEL", cel("self.status.phase == 'Running'"), true},
		{"false in CEL", cel("self.status.phase == 'Pending'"), false},
		{"a missing key in CEL", cel("self.status.nope != 'x'"), false},
		{"has in CEL", cel("!has(self.status.nope)"), true},
		{"an optional field in CEL", cel("self.?status.?nope.orValue('y') == 'y'"), true},
		{"a CEL result that is not a bool", cel("self.status.phase"), false},
		{"Now in CEL", cel("Now() == timestamp('2006-01-02T15:04:05Z')"), true},
		{"SinceSecond in CEL", cel("SinceSecond(self) == 5.0 && self.SinceSecond() > 4.0"), true},
		{"Quantity in CEL", cel("Quantity('1Gi') * 2 > Quantity('2047Mi')"), true},
		{"all requirements are needed", "{matchExpressions: [{key: .status.phase, operator: Exists}, {cel: {expression: 'false'}}]}", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := selector.Compile(parse(t, tc.selector), selector.Options{})
			require.NoError(t, err)
			obj := web()
			require.Equal(t, tc.want, s.Match(obj, now))
			require.Equal(t, web(), obj, "the object is not changed")
		})
	}
}

func TestCompileReportsAllFaults(t *testing.T) {
	s, err := selector.Compile(parse(t, `{matchExpressions: [
		{key: '.a |', operator: Exists}, {key: .a, operator: in, values: [x]}, {key: .a, operator: In}, {key: .a, operator: DoesNotExist, values: [x]},
		{key: .a}, {operator: Exists}, {jq: {key: 'nope(1)', operator: Exists}}, {cel: {expression: '1 + 1'}}, {cel: {expression: 'self. == 1'}}, {}]}`), selector.Options{})
	require.Nil(t, s)
	var paths []string
	for _, fault := range err.(interface{ Unwrap() []error }).Unwrap() {
		e, ok := errors.AsType[*selector.Error](fault)
		require.True(t, ok)
		require.False(t, e.Warning)
		paths = append(paths, strings.TrimPrefix(e.Path, "matchExpressions"))
	}
	first, ok := errors.AsType[*selector.Error](err)
	require.True(t, ok)
	require.Equal(t, 4, first.Offset)
	require.Equal(t, "matchExpressions[0].key: unexpected EOF at line 1, column 5 of the program", first.Error())
	require.Equal(t, first.Err, errors.Unwrap(first))
	require.Equal(t, []string{"[0].key", "[1].operator", "[2].values", "[3].values", "[4].operator", "[5].key",
		"[6].jq.key", "[7].cel.expression", "[8].cel.expression", "[9]"}, paths)
}

func TestWarningsLeaveASelector(t *testing.T) {
	s, err := selector.Compile(parse(t, "{matchExpressions: [{key: .metadata.name, operator: Exists, cel: {expression: 'false'}}]}"), selector.Options{})
	warning, ok := errors.AsType[*selector.Error](err)
	require.True(t, ok && warning.Warning)
	require.True(t, s.Match(web(), now), "jq is used")
}

func ExampleSelector_Explain() {
	s, _ := selector.Compile(&v1alpha1.StageSelector{
		MatchLabels: map[string]string{"app": "db"},
		MatchExpressions: []v1alpha1.MatchExpression{
			{Key: ".status.conditions.[].type", Operator: v1alpha1.SelectorOpIn, Values: []string{"Ready"}},
			{Key: ".status.phase.name", Operator: v1alpha1.SelectorOpDoesNotExist},
			{CEL: &v1alpha1.ExpressionCEL{Expression: `self.status.phase == "Failed" || self.status.reason == "Evicted"`}},
		},
	}, selector.Options{})
	for _, r := range s.Explain(web(), now) {
		fmt.Println(r.OK, r.Text, r.Seen, r.Err)
	}
	// Output:
	// false labels[app] = db [web] <nil>
	// true .status.conditions.[].type In [Ready] [Ready Fancy] <nil>
	// true .status.phase.name DoesNotExist [] expected an object but got: string ("Running")
	// false self.status.phase == "Failed" || self.status.reason == "Evicted" [Running <nil>] no such key: reason
}

func BenchmarkMatch(b *testing.B) {
	for name, text := range map[string]string{
		"path":   "{matchExpressions: [{key: .status.phase, operator: In, values: [Running]}]}",
		"select": `{matchExpressions: [{key: '.status.conditions.[] | select(.type == "Ready") | .status', operator: In, values: ['True']}]}`,
		"cel":    `{matchExpressions: [{cel: {expression: "self.status.phase == 'Running'"}}]}`,
	} {
		b.Run(name, func(b *testing.B) {
			s, err := selector.Compile(parse(b, text), selector.Options{})
			require.NoError(b, err)
			obj := web()
			b.ReportAllocs()
			for b.Loop() {
				s.Match(obj, now)
			}
		})
	}
}
