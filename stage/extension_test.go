package stage_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/delay"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

const drawn = `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: run
  annotations:
    stagecraft-go.github.io/delay: "exponential: {mean: 10s}"
    stagecraft-go.github.io/patches: "[{increment: .status.starts}]"
spec:
  resourceRef: {kind: Pod}
  selector: {matchExpressions: [{key: .status.starts, operator: DoesNotExist}]}
  delay: {durationMilliseconds: 1000}
`

func extendedSet(t testing.TB, text string) *stage.Set {
	t.Helper()
	set, err := stage.Compile(stage.Options{Extensions: true}, stage.Parse("stages.yaml", []byte(text)))
	require.NoError(t, err)
	return set
}

// The faults of a Stage without text have no positions to be sorted by: they come in the order of the
// fields all the same.
func TestFaultsOfStagesWithoutTextHaveAnOrder(t *testing.T) {
	st := v1alpha1.Stage{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{
		stage.PatchesExtension:    `[{increment: .status.n, by: 0, template: "a: b", list: .status.l}, {condition: Ready, by: 1}]`,
		delay.ExtensionAnnotation: `{exponential: {mean: 1s}, quantiles: {"0": 1s}, logNormal: {median: 1s, p99: 2s}}`,
	}}}
	st.Spec.ResourceRef.Kind, st.Spec.Selector = "Pod", &v1alpha1.StageSelector{}
	var first string
	for range 100 {
		_, err := stage.Compile(stage.Options{Extensions: true}, stage.FromStages(st))
		require.ErrorContains(t, err, "[0].list: is for a condition")
		if first == "" {
			first = err.Error()
		}
		require.Equal(t, first, err.Error())
	}
	require.Less(t, strings.Index(first, "[0].by"), strings.Index(first, "[0].list"))
	require.Less(t, strings.Index(first, "[0].list"), strings.Index(first, "[0].template"))
}

// TestDrawsOncePerEntry: an object that is updated often keeps its draw, and so still advances.
func TestDrawsOncePerEntry(t *testing.T) {
	engine := stage.NewEngine(extendedSet(t, drawn), stage.EngineOptions{Seed: 1})
	obj := pod(t, "{}", "{}")
	require.NoError(t, engine.Observe(obj, start))
	due, ok := engine.NextDue()
	require.True(t, ok)
	require.Greater(t, due, start.Add(time.Second))
	for i := range 100 {
		obj.SetAnnotations(map[string]string{"n": string(rune('a' + i))})
		require.NoError(t, engine.Observe(obj, start.Add(time.Duration(i)*time.Millisecond)))
		again, _ := engine.NextDue()
		require.Equal(t, due, again)
	}
}

// TestDrawsAreThoseOfVirtualTime: a player in real time and a simulation in virtual time play the
// same object, with the same seed, after the same delay.
func TestDrawsAreThoseOfVirtualTime(t *testing.T) {
	set := extendedSet(t, drawn)
	delays := func(into *time.Duration) func(stage.TraceEvent) {
		return func(e stage.TraceEvent) {
			if e.Kind == stage.TraceScheduled {
				*into = e.Due.Sub(e.Time)
			}
		}
	}
	var virtual, real time.Duration
	sim, err := simulation.New(set, simulation.Options{Seed: 7, Trace: delays(&virtual)})
	require.NoError(t, err)
	_, err = sim.Cluster().Create(t.Context(), pod(t, "{}", "{}"), metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, sim.Advance(t.Context(), 0))
	synctest.Test(t, func(t *testing.T) {
		cluster := memory.New(memory.Options{Seed: 7})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- player.Play(ctx, set, cluster, player.Options{Seed: 7, Trace: delays(&real)}) }()
		synctest.Wait()
		_, err := cluster.Create(ctx, pod(t, "{}", "{}"), metav1.CreateOptions{})
		require.NoError(t, err)
		synctest.Wait()
		cancel()
		<-done
	})
	require.Greater(t, virtual, time.Second)
	require.Equal(t, virtual, real)
}

// TestExtensionsOfStagesWithoutText: Stages from a cluster have them too, and faults have paths.
func TestExtensionsOfStagesWithoutText(t *testing.T) {
	stages := stage.Parse("stages.yaml", []byte(drawn)).Stages()
	_, err := stage.Compile(stage.Options{}, stage.FromStages(stages...))
	require.ErrorContains(t, err, `stage "run": metadata.annotations["stagecraft-go.github.io/delay"]: an extension, which kwok does not have; to play it, set Extensions`)
	_, err = stage.Compile(stage.Options{Lenient: true}, stage.FromStages(stages...))
	require.Error(t, err, "nor does Lenient let it be ignored")
	set, err := stage.Compile(stage.Options{Extensions: true}, stage.FromStages(stages...))
	require.NoError(t, err)
	require.Equal(t, "1s + exponential (mean 10s)", set.Candidates(pod(t, "{}", "{}"), start)[0].Delay.String())
}

// TestEdits: what the items of the patches make of objects.
func TestEdits(t *testing.T) {
	for _, tc := range []struct{ name, item, status, want string }{
		{"a number that is not there", "increment: .status.a.k", "{}", `[{"op":"add","path":"/status","value":{"a":{"k":1}}}]`},
		{"a number", "{increment: .status.k, by: -2}", "{k: 5}", `[{"op":"add","path":"/status/k","value":3}]`},
		{"a fraction", "{increment: .status.k, by: 2}", "{k: 0.5}", `[{"op":"add","path":"/status/k","value":2.5}]`},
		{"the number of an item", `increment: .status.l[1]`, "{l: [1, 2]}", `[{"op":"replace","path":"/status/l/1","value":3}]`},
		{"a name with a slash", `increment: .status["a/b~"].k`, "{a/b~: {k: 1}}", `[{"op":"add","path":"/status/a~1b~0/k","value":2}]`},
		{"an item that is not there", "increment: .status.l[1].k", "{l: []}", "error: .status.l: there is no item 1"},
		{"a list that is not there", "increment: .status.l[0].k", "{}", "error: .status.l[0].k: there is no list"},
		{"text", "increment: .status.k", "{k: '5'}", `error: .status.k: want a number, got "5"`},
		{"too large", "increment: .status.k", "{k: 9223372036854775807}", "error: .status.k: 9223372036854775807 is too large to add 1"},
		{"below a number", "increment: .status.k.m", "{k: 5}", "error: .status.k: want an object, got 5"},
		{"the first condition", `{condition: Ready, template: 'status: "True"'}`, "{}", `[{"op":"add","path":"/status","value":{"conditions":[{"lastTransitionTime":"2006-01-02T15:04:05Z","status":"True","type":"Ready"}]}}]`},
		{"one more condition", `{condition: Ready, template: 'status: "True"'}`, "{conditions: [{type: A}]}", `[{"op":"add","path":"/status/conditions/-","value":{"lastTransitionTime":"2006-01-02T15:04:05Z","status":"True","type":"Ready"}}]`},
		{"the same condition", `{condition: Ready, template: 'status: "True"'}`, `{conditions: [{type: Ready, status: "True", reason: R, lastTransitionTime: then}]}`, ""},
		{"another reason", `{condition: Ready, template: '{status: "True", reason: S}'}`, `{conditions: [{type: Ready, status: "True", reason: R, lastTransitionTime: then}]}`, `[{"op":"replace","path":"/status/conditions/0","value":{"lastTransitionTime":"then","reason":"S","status":"True","type":"Ready"}}]`},
		{"a field less", `{condition: Ready, template: 'reason: null'}`, `{conditions: [{type: Ready, status: "True", reason: R}]}`, `[{"op":"replace","path":"/status/conditions/0","value":{"status":"True","type":"Ready"}}]`},
		{"a time of its own", `{condition: Ready, template: '{status: "False", lastTransitionTime: now}'}`, `{conditions: [{type: Ready, status: "True"}]}`, `[{"op":"replace","path":"/status/conditions/0","value":{"lastTransitionTime":"now","status":"False","type":"Ready"}}]`},
		{"a list elsewhere", `{condition: Ready, list: .spec.gates, template: 'status: "True"'}`, `{}`, `[{"op":"add","path":"/spec/gates","value":[{"lastTransitionTime":"2006-01-02T15:04:05Z","status":"True","type":"Ready"}]}]`},
		{"no list", `{condition: Ready, template: 'status: "True"'}`, `{conditions: 5}`, "error: .status.conditions: want a list, got 5"},
		{"another type", `{condition: Ready, template: 'type: A'}`, `{}`, `error: the template gives the type "A" to the condition Ready`},
		{"no fields", `{condition: Ready, template: '[a]'}`, `{}`, "error: want the template to give the fields of the condition, such as status"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := `{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, spec: {resourceRef: {kind: Pod}, selector: {}},
				metadata: {name: a, annotations: {stagecraft-go.github.io/patches: ` + strconv.Quote("- "+tc.item) + `}}}`
			obj := pod(t, "{}", tc.status)
			if tc.status == "{}" {
				delete(obj.Object, "status")
			}
			transition, ok := extendedSet(t, text).Next(obj, start, 0, 0)
			require.True(t, ok)
			effects, err := transition.Effects(obj, start)
			switch {
			case err != nil:
				require.ErrorContains(t, err, tc.want[len("error: "):])
			case tc.want == "":
				require.Empty(t, effects)
			default:
				p := effects[0].(stage.Patch)
				require.Equal(t, tc.want, string(p.JSON()))
				if _, err := p.Result(obj); err != nil {
					require.NoError(t, err)
				}
			}
		})
	}
}
