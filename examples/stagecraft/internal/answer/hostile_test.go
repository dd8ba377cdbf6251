package answer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/examples/stagecraft/internal/answer"
)

const stageText = `apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: %s}
spec: {resourceRef: {apiGroup: v1, kind: Pod}, selector: {}, %s}
---
`

// hostile are requests that ask for much work.
func hostile() map[string]answer.Request {
	pod := "{apiVersion: v1, kind: Pod, metadata: {name: a}}\n---\n"
	all := map[string]answer.Request{
		"a counter": {View: answer.ViewLives, Objects: pod,
			Stages: fmt.Sprintf(stageText, "count", `delay: {durationMilliseconds: 1000}, next: {statusTemplate: "message: {{ Now | quote }}"}`)},
		"growth": {View: answer.ViewLives, Objects: pod,
			Stages: fmt.Sprintf(stageText, "grow", `delay: {durationMilliseconds: 1000}, next: {statusTemplate: "message: \"{{ .status.message }}{{ .status.message }}xxxxxxxx\""}`)},
		"a livelock": {View: answer.ViewLives, Objects: pod,
			Stages: fmt.Sprintf(stageText, "spin", `next: {statusTemplate: "message: {{ printf \"%vx\" .status.message | quote }}"}`)},
		"a loop in a template": {View: answer.ViewLives, Objects: pod,
			Stages: fmt.Sprintf(stageText, "loop", `next: {statusTemplate: "message: \"{{ range until 100000 }}{{ range until 100000 }}x{{ end }}{{ end }}\""}`)},
		"a loop in jq": {View: answer.ViewLives, Objects: pod,
			Stages: strings.Replace(fmt.Sprintf(stageText, "jq", `next: {delete: true}`), "selector: {}", `selector: {matchExpressions: [{key: "last(range(1e12))", operator: Exists}]}`, 1)},
		"many objects": {View: answer.ViewLives, Objects: strings.Repeat("{apiVersion: v1, kind: Pod, metadata: {generateName: a}}\n---\n", 4000),
			Stages: fmt.Sprintf(stageText, "x", "next: {delete: true}")},
		"aliases":       {View: answer.ViewStatus, Objects: "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n"},
		"nesting":       {View: answer.ViewStatus, Objects: "{apiVersion: v1, kind: A, metadata: {name: a}, spec: " + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + "}"},
		"a long text":   {View: answer.ViewStatus, Objects: strings.Repeat("x", answer.MaxText+1)},
		"many faults":   {View: answer.ViewLives, Stages: strings.Repeat(fmt.Sprintf(stageText, "x", "nex: 1"), 1500)},
		"many Stages":   {View: answer.ViewLives, Objects: pod, Stages: many(900)},
		"many statuses": {View: answer.ViewStatus, Objects: strings.Repeat("{apiVersion: v1, kind: Pod, metadata: {name: a}}\n---\n", 4000)},
		"no view":       {},
	}
	all["a rollout without end"] = answer.Request{View: answer.ViewRollout, Rollout: endless}
	return all
}

// many returns Stages that all match, so that there are many lives.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, stageText, fmt.Sprintf("s%d", i), fmt.Sprintf(`weight: 1, next: {statusTemplate: "{phase: p%d}"}`, i))
	}
	return b.String()
}

// endless is a rollout with a second player and a Stage that changes the workload every millisecond.
const endless = `apiVersion: community.kubestellar.io/v1alpha1
kind: StagedBindingPolicy
metadata: {name: p}
spec:
  downsync: [{objectSelectors: [{matchLabels: {a: b}}]}]
  stages: [{name: dev, clusterSelectors: [{matchLabels: {env: dev}}], condition: "false"}]
---
{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: dev1, labels: {env: dev, name: dev1}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, labels: {a: b}}, spec: {selector: {matchLabels: {a: b}}}}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: tick}
spec: {resourceRef: {apiGroup: apps/v1, kind: Deployment}, selector: {}, delay: {durationMilliseconds: 1}, next: {statusTemplate: "message: {{ Now | quote }}"}}
`

// TestWorkIsLimited: each hostile request has an answer in time, and no bug.
func TestWorkIsLimited(t *testing.T) {
	for name, r := range hostile() {
		for _, r.Part = range []answer.Part{answer.PartNext, answer.PartLives, answer.PartLint} {
			if r.Part != answer.PartNext && r.View != answer.ViewLives {
				continue
			}
			t.Run(name+" "+string(r.Part), func(t *testing.T) {
				began := time.Now()
				request, err := json.Marshal(r)
				require.NoError(t, err)
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				var a answer.Answer
				require.NoError(t, json.Unmarshal(answer.To(ctx, request), &a))
				took := time.Since(began)
				t.Logf("%s: %s %d faults", took.Round(time.Millisecond), a.Error, len(a.Faults))
				require.NotContains(t, a.Error, "a bug of stagecraft")
				require.Less(t, took, 20*time.Second, "2 s, and some more on a busy machine")
				if a.Run != nil {
					require.LessOrEqual(t, len(a.Run.Moments), answer.MaxMoments+1)
				}
			})
		}
	}
}

// FuzzTo checks that no request makes a panic, and that each answer is JSON.
func FuzzTo(f *testing.F) {
	for _, r := range hostile() {
		if len(r.Stages)+len(r.Objects) < 4096 {
			f.Add(string(r.View), r.Stages, r.Objects+r.Rollout, uint64(1))
		}
	}
	for _, e := range examples(f) {
		r := e.request(f)
		f.Add(string(r.View), r.Stages, r.Objects+r.Rollout, uint64(1))
	}
	f.Fuzz(func(t *testing.T, view, stages, text string, seed uint64) {
		part := []answer.Part{answer.PartNext, answer.PartLives, answer.PartLint}[seed%3]
		request, err := json.Marshal(answer.Request{View: answer.View(view), Part: part, Stages: stages, Objects: text, Rollout: text, Seed: seed, Delete: true})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var a answer.Answer
		require.NoError(t, json.Unmarshal(answer.To(ctx, request), &a))
		require.NotContains(t, a.Error, "a bug of stagecraft", request)
	})
}
