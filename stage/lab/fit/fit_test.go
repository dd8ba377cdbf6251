package fit_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/fit"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

var pods = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

// run plays Stages on n Pods for a time, and returns the log. Without names, the log does not say
// which Stage was played, like the log of a real kubelet.
func run(t testing.TB, n int, d time.Duration, names bool, stages ...stage.Source) []byte {
	t.Helper()
	var text bytes.Buffer
	out := record.NewJSONLWriter(&text)
	recorder := record.New(record.Options{Seed: 1, Sink: out.Write})
	set, err := stage.Compile(stage.Options{Extensions: true}, stages...)
	require.NoError(t, err)
	o := simulation.Options{Seed: 1}
	if names {
		o.Trace = recorder.Trace
	}
	sim, err := simulation.New(set, o)
	require.NoError(t, err)
	require.NoError(t, recorder.Follow(sim, pods))
	for i := range n {
		require.NoError(t, sim.Cluster().Load(context.Background(), fmt.Appendf(nil,
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p%d","namespace":"default","ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"u","controller":true}]},"spec":{"nodeName":"node","containers":[{"name":"c","image":"i"}]}}`, i)))
	}
	require.NoError(t, sim.Advance(context.Background(), d))
	require.NoError(t, out.Flush())
	return text.Bytes()
}

func fitted(t testing.TB, log []byte, o fit.Options) *fit.Result {
	t.Helper()
	r, err := fit.Fit(record.ReadJSONL("log", bytes.NewReader(log)), o)
	require.NoError(t, err)
	return r
}

const known = `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-ready, annotations: {stagecraft-go.github.io/delay: "logNormal: {median: 3s, p90: 5s}"}}
spec:
  resourceRef: {kind: Pod}
  selector: {matchExpressions: [{key: .status.phase, operator: In, values: [Pending]}]}
  next:
    statusTemplate: |
      phase: Running
      conditions: [{type: Ready, status: "True"}]
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-complete, annotations: {stagecraft-go.github.io/delay: "exponential: {mean: 5s}"}}
spec:
  resourceRef: {kind: Pod}
  selector: {matchExpressions: [{key: .status.phase, operator: In, values: [Running]}]}
  delay: {durationMilliseconds: 2000}
  next: {statusTemplate: 'phase: Succeeded'}
`

// TestKnownDelaysAreRecovered fits 10,000 Pods, whose delays are known, with and without the names
// of Stages in the log; then, where tests do all that they can, 10,000 Pods that the derived Stages play.
func TestKnownDelaysAreRecovered(t *testing.T) {
	want := map[string][2]float64{"Ready": {3, 5}, "Succeeded": {2 + 5*math.Ln2, 2 + 5*math.Log(10)}} // p50, p90 in seconds
	check := func(name string, r *fit.Result) {
		t.Logf("%s:\n%s", name, r)
		require.Len(t, r.Stages, 2)
		for _, tr := range r.Transitions {
			require.Equal(t, 10_000, tr.Samples)
			require.InEpsilon(t, want[tr.To][0], tr.Quantile(.5).Seconds(), .02)
			require.InEpsilon(t, want[tr.To][1], tr.Quantile(.9).Seconds(), .02)
			require.Less(t, tr.Distance, tr.Chance)
		}
	}
	source := stage.Parse("known.yaml", []byte(known))
	check("with names", fitted(t, run(t, 10_000, time.Hour, true, source), fit.Options{Complete: true, Stages: []stage.Source{source}}))
	r := fitted(t, run(t, 10_000, time.Hour, false, source), fit.Options{Complete: true})
	check("without names", r)
	text, err := r.YAML()
	require.NoError(t, err)
	derived := stage.Parse("derived.yaml", text)
	require.Empty(t, derived.Errors())
	if !effort.All {
		return
	}
	check("derived", fitted(t, run(t, 10_000, time.Hour, false, derived), fit.Options{Complete: true}))
}

// TestPodGeneralGivesBackItsParameters: its delays are between 1 and 5 seconds.
func TestPodGeneralGivesBackItsParameters(t *testing.T) {
	r := fitted(t, run(t, 3000, time.Hour, true, presets.PodGeneral()), fit.Options{Complete: true, Stages: []stage.Source{presets.PodGeneral()}})
	names := map[string]bool{}
	for _, tr := range r.Transitions {
		names[tr.Fitted] = true
		require.InDelta(t, 1, tr.Quantile(0).Seconds(), .02)
		require.InDelta(t, 3, tr.Quantile(.5).Seconds(), .1)
		require.InDelta(t, 4.6, tr.Quantile(.9).Seconds(), .1)
		require.InDelta(t, 5, tr.Quantile(1).Seconds(), .02)
	}
	require.Equal(t, map[string]bool{"pod-create": true, "pod-ready": true, "pod-complete": true}, names)
}

func TestFewSamplesAreNamedAndCutOffOnesCounted(t *testing.T) {
	source := stage.Parse("known.yaml", []byte(known))
	r := fitted(t, run(t, 40, 6*time.Second, false, source), fit.Options{Complete: true})
	require.Len(t, r.Stages, 1)
	require.Equal(t, "pod-scheduled-ready", r.Transitions[1].Fitted)
	few := r.Transitions[0]
	require.Equal(t, "Ready → Succeeded", few.From+" → "+few.To)
	require.Regexp(t, `^\d+ samples, fewer than 30$`, few.NotFitted)
	require.Zero(t, few.Quantile(.5))
	left, cutOff := 0, 0
	for _, s := range r.States {
		left, cutOff = left+s.Left, cutOff+s.CutOff
		require.Zero(t, s.Unknown)
	}
	require.Equal(t, 40, cutOff)
	require.Equal(t, few.Samples+r.Transitions[1].Samples, left)
	require.Contains(t, r.String(), "cut off by the end of the log")

	r = fitted(t, run(t, 40, time.Hour, false, source), fit.Options{})
	require.Equal(t, 40, r.States[1].Unknown, "Pods of the first moment may be older")
	require.Equal(t, "Scheduled", r.States[1].Name)
}

func TestAMalformedLogIsRefusedWithItsLine(t *testing.T) {
	good := `{"ns":1,"kind":"Pod","name":"p","to":"Pending"}` + "\n"
	for bad, want := range map[string]string{
		`{"ns":2,"kind":"Pod","name":"p"`:                                 "log:2: unexpected EOF",
		`{"ns":2,"kind":"Pod","name":"p","from":"Pending"}`:               "log:2: to is missing",
		`{"ns":2,"kind":"Pod","name":"p","from":"Ready","to":"Failed"}`:   `record 2: Pod p: it comes from "Ready", but was last in "Pending"`,
		`{"ns":0,"kind":"Pod","name":"p","from":"Pending","to":"Failed"}`: "record 2: Pod p: the time is before that of the record before",
	} {
		r, err := fit.Fit(record.ReadJSONL("log", strings.NewReader(good+bad)), fit.Options{})
		require.EqualError(t, err, want)
		require.Nil(t, r)
	}
	_, err := fit.Fit(record.ReadJSONL("log", strings.NewReader(strings.Repeat("{\n", 1000))), fit.Options{})
	require.Equal(t, 10, strings.Count(err.Error(), "log:"))
	r, err := fit.Fit(record.ReadJSONL("log", strings.NewReader("")), fit.Options{})
	require.NoError(t, err)
	require.Empty(t, r.Transitions)
}
