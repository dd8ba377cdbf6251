package stage_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// TestHostileInput plays Stages and objects that try to take all time or memory, together with a
// sound Stage. Each ends within bounded memory, and the sound Stage is played.
func TestHostileInput(t *testing.T) {
	const pending = "{key: .status.phase, operator: In, values: [Pending]}"
	labelled := func(rest string) string { return "  selector: {matchLabels: {hostile: 'yes'}}\n" + rest }
	template := func(text string) string {
		return labelled("  next:\n    statusTemplate: |\n      " + strings.ReplaceAll(text, "\n", "\n      "))
	}
	jq := func(program string) string {
		return "  selector: {matchLabels: {hostile: 'yes'}, matchExpressions: [{key: '" + program + "', operator: Exists}]}\n  next: {statusTemplate: 'hit: true'}"
	}
	for _, tc := range []struct {
		name string
		spec string // of the hostile Stage
		want string // in the trace of the hostile object; "" if it simply does not match
	}{
		{"a template that never ends", template(`{{ range 3000000000 }}{{ end }}`), "needs more than"},
		{"a template that prints a gigabyte", template(`{{ range 1000000000 }}xxxxxxxxxxxxxxxx{{ end }}`), "needs more than"},
		{"until a billion", template(`{{ range until 1000000000 }}x{{ end }}`), "needs more than"},
		{"repeat a billion", template(`{{ repeat 1000000000 "x" }}`), "needs more than"},
		{"a template that calls itself", template(`{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}`), "failed"},
		{"a string that doubles", template(`{{ $x := "x" }}{{ range until 60 }}{{ $x = printf "%s%s" $x $x }}{{ end }}`), "needs more than"},
		{"a list that doubles", template(`{{ $x := list 1 }}{{ range until 60 }}{{ $x = list $x $x }}{{ end }}{{ $x }}`), "needs more than"},
		{"YAML that laughs a billion times", template("a: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c]\ne: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d]\nf: &f [*e, *e, *e, *e, *e, *e, *e, *e, *e]\ng: [*f, *f, *f, *f, *f, *f, *f, *f, *f]"), "failed"},
		{"YAML that contains itself", template("a: &a [*a]"), "failed"},
		{"YAML nested ten thousand deep", template(`{{ repeat 10001 "[" }}`), "failed"},
		{"jq that repeats for ever", jq("repeat(.)"), ""},
		{"jq that builds a gigabyte", jq(`"x" * 1e9`), ""},
		{"jq that doubles", jq(`reduce range(60) as $i ("x"; . + .)`), ""},
		{"jq that collects for ever", jq("[repeat(1)]"), ""},
		{"jq that recurses for ever", jq("def f: f; f"), ""},
		{"CEL over the cost limit", "  selector: {matchLabels: {hostile: 'yes'}, matchExpressions: [{cel: {expression: 'lists.range(1000).all(a, lists.range(1000).all(b, lists.range(1000).all(c, a + b + c >= 0)))'}}]}\n  next: {statusTemplate: 'hit: true'}", ""},
		{"a Stage that loops on itself", labelled("  next: {statusTemplate: 'count: {{ add1 (int .status.count) }}'}"), "livelock"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			set := compile(t, stageYAML("hostile", tc.spec), stageYAML("sound", "  selector: {matchExpressions: [{key: .metadata.labels.hostile, operator: DoesNotExist}, "+pending+"]}\n  next: {statusTemplate: 'phase: Running'}"))
			hostile := newPod("hostile", "")
			hostile.SetLabels(map[string]string{"hostile": "yes"})
			trace, allocated := playPair(t, set, hostile)
			require.Less(t, allocated, uint64(1<<30))
			require.NotContains(t, trace, "hit")
			require.Contains(t, trace, tc.want)
		})
	}
}

// playPair plays a hostile and a sound pod and returns the trace of the hostile one and the bytes
// allocated meanwhile.
func playPair(t *testing.T, set *stage.Set, hostile *unstructured.Unstructured) (string, uint64) {
	t.Helper()
	var trace strings.Builder
	o := simulation.Options{Trace: func(e stage.TraceEvent) {
		if e.Key.Name == hostile.GetName() {
			trace.WriteString(e.String() + "\n")
		}
	}}
	sim, err := simulation.New(set, o)
	require.NoError(t, err)
	create(t, sim.Cluster(), hostile)
	create(t, sim.Cluster(), newPod("web", ""))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, sim.Advance(t.Context(), time.Minute))
	runtime.ReadMemStats(&after)
	require.Equal(t, "Running", phaseOf(t, sim.Cluster()), "the others go on")
	return trace.String(), after.TotalAlloc - before.TotalAlloc
}

// TestHostileObjects matches and renders objects that are larger, deeper or stranger than an API
// server would store.
func TestHostileObjects(t *testing.T) {
	set := compile(t, stageYAML("go", `
  selector:
    matchLabels: {app: web}
    matchExpressions:
    - {key: '.status.conditions.[] | select(.type == "Ready") | .status', operator: NotIn, values: ['True']}
    - {key: '[..] | length', operator: Exists}
    - {cel: {expression: 'self.kind == "Pod"'}}
  delay: {durationFrom: {expressionFrom: .spec.d}}
  weightFrom: {expressionFrom: .spec.w}
  next: {statusTemplate: 'x: {{ .spec.name | Quote }}', finalizers: {add: [{value: a/b}]}}`))
	labels := map[string]any{"app": "web"}
	deep := any("end")
	for range 20_000 {
		deep = map[string]any{"a": deep}
	}
	for name, obj := range map[string]map[string]any{
		"ten megabytes":          {"metadata": map[string]any{"name": "x", "labels": labels}, "spec": map[string]any{"name": strings.Repeat("x", 10<<20)}},
		"a million items":        {"metadata": map[string]any{"name": "x", "labels": labels}, "spec": map[string]any{"list": make([]any, 1_000_000)}},
		"twenty thousand levels": {"metadata": map[string]any{"name": "x", "labels": labels}, "spec": map[string]any{"deep": deep}},
		"everything is a string": {"metadata": "x", "spec": "x", "status": "x"},
		"everything is a list":   {"metadata": []any{}, "spec": []any{1}, "status": []any{nil}},
		"labels of other types":  {"metadata": map[string]any{"labels": map[string]any{"app": int64(1)}, "finalizers": "x"}, "status": map[string]any{"conditions": "x"}},
		"Go numbers":             {"metadata": map[string]any{"labels": labels, "finalizers": []any{1, nil}}, "spec": map[string]any{"a": int8(1), "b": uint(2), "c": float32(3), "w": int32(4)}},
		"nothing":                {},
	} {
		t.Run(name, func(t *testing.T) {
			obj["apiVersion"], obj["kind"] = "v1", "Pod"
			u := &unstructured.Unstructured{Object: obj}
			e := stage.NewEngine(set, stage.EngineOptions{})
			require.NoError(t, e.Observe(u, start))
			for _, c := range set.Candidates(u, start) {
				effects, err := c.Transition(0).Effects(u, start)
				if err != nil {
					var eval *stage.Error
					require.ErrorAs(t, err, &eval)
				}
				for _, effect := range effects {
					if p, ok := effect.(stage.Patch); ok {
						_, _ = p.NoOp(u)
					}
				}
			}
		})
	}
}

func TestHostileFiles(t *testing.T) {
	for name, text := range map[string]string{
		"cyclic anchors": "apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: &m {name: a, labels: *m}\n",
		"deep nesting":   strings.Repeat("[", 100_000),
		"many anchors":   "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: [*g,*g,*g,*g,*g,*g,*g,*g,*g,*g]\n",
		"binary":         "\x00\x01\xff\xfe",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := stage.Compile(stage.Options{}, stage.Parse("f.yaml", []byte(text)))
			var faults stage.Errors
			require.ErrorAs(t, err, &faults)
			require.NotEmpty(t, faults[0].Path)
			require.Positive(t, faults[0].Position.Line)
		})
	}
}

// phaseOf is the phase of the Pod default/web.
func phaseOf(t *testing.T, c *memory.Cluster) string {
	t.Helper()
	obj, err := c.Get(context.Background(), podKind, types.NamespacedName{Namespace: "default", Name: "web"})
	require.NoError(t, err)
	phase, _, _ := unstructured.NestedString(obj.Object, "status", "phase")
	return phase
}
