package stage_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/stagecraft-go/stagecraft/internal/txtar"
	"github.com/stagecraft-go/stagecraft/selector"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

// TestExplain compares explanations with files: stages.yaml and object.yaml give want. The flag
// -update rewrites them.
func TestExplain(t *testing.T) {
	files, err := filepath.Glob("testdata/explain/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			parts := map[string]string{}
			for _, f := range archive.Files {
				parts[f.Name] = string(f.Data)
			}
			set, err := stage.Compile(stage.Options{Extensions: true}, stage.Parse("stages.yaml", []byte(parts["stages.yaml"])))
			require.NoError(t, err)
			obj := object(t, parts["object.yaml"])
			before := obj.DeepCopy()
			got := set.Explain(obj, start).String()
			require.Equal(t, before, obj, "the object is not changed")
			require.Equal(t, got, set.Explain(obj, start).String(), "the explanation is deterministic")
			if *update {
				archive.Files = append(slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == "want" }), txtar.File{Name: "want", Data: []byte(got)})
				require.NoError(t, os.WriteFile(file, txtar.Format(archive), 0o600))
				return
			}
			require.Equal(t, parts["want"], got)
		})
	}
}

func TestExplainWithoutText(t *testing.T) {
	stages := stage.Parse("stages.yaml", []byte(stageYAML("a", "  selector: {matchLabels: {app: db}}"))).Stages()
	set := stage.MustCompile(stage.FromStages(stages...))
	e := set.Explain(pod(t, "{}", "{}"), start)
	require.Equal(t, stage.Position{}, e.Stages[0].Locate("metadata.name"))
	require.Equal(t, "Pod default/web: nothing happens: no stage matches; closest, 1 requirement short: \"a\"\n\n✗ \"a\"\n"+
		"  ✗ labels[app] = db: saw nothing (spec.selector.matchLabels.app)\n", e.String())
}

func TestExplainWithoutObject(t *testing.T) {
	set := stage.MustCompile(presets.PodFast())
	require.Equal(t, "nothing happens: the object has no kind\n", set.Explain(nil, start).String())
	require.Equal(t, "nothing happens: the object has no kind\n", set.Explain(&unstructured.Unstructured{}, start).String())
	node := object(t, "{apiVersion: v1, kind: Node, metadata: {name: node}}")
	require.Equal(t, "Node node: nothing happens: no stage is for v1 Node; the set has stages for v1 Pod\n", set.Explain(node, start).String())
	require.Equal(t, "Node node: nothing happens: no stage is for v1 Node; the set has none at all\n", stage.MustCompile().Explain(node, start).String())
}

// FuzzExplain compares explanations with the decisions of the Set.
func FuzzExplain(f *testing.F) {
	f.Add(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"c"}],"nodeName":"n"}}`, uint64(1))
	f.Add(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","finalizers":["x"],"deletionTimestamp":"2006-01-02T15:04:05Z"}}`, uint64(1))
	f.Add(`{"apiVersion":"v1","kind":"Pod","status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]},"metadata":{"ownerReferences":[{"kind":"Job"}]}}`, uint64(2))
	f.Add(`{"apiVersion":"v1","kind":"Node","metadata":{"annotations":{"weight":"-1","delay":"1x"}},"status":{"conditions":[[]],"phase":{}}}`, uint64(3))
	f.Add(`{"apiVersion":"v1","kind":"Node","metadata":{"labels":{"app":"web"},"annotations":{"weight":"0x10","delay":"5s"}},"status":{"count":3}}`, uint64(4))
	f.Add(`{"apiVersion":"v1","kind":"Node","metadata":{"annotations":{"weight":"","delay":""},"finalizers":[1]},"status":{"count":1.5}}`, uint64(5))
	f.Add(`{"apiVersion":"v1","kind":"Node","metadata":{"annotations":[]},"status":"Running"}`, uint64(6))
	set := stage.MustCompile(presets.NodeFast(), presets.NodeHeartbeat(), presets.NodeChaos(), presets.PodGeneral(), presets.PodChaos(), presets.Volumes(),
		stage.Parse("nodes.yaml", []byte(strings.ReplaceAll(nodeStages, "KIND", "Node"))))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		var fields map[string]any
		if utiljson.Unmarshal([]byte(text), &fields) != nil || fields == nil {
			return
		}
		obj := &unstructured.Unstructured{Object: fields}
		before := obj.DeepCopy()
		e := set.Explain(obj, start)
		require.Equal(t, e.String(), set.Explain(obj, start).String())
		require.Equal(t, before, obj)
		requireAgreement(t, set, obj, seed, e)
		requireNext(t, set, obj, seed)
	})
}

// nodeStages have every source of weight and delay, and effects of every type.
const nodeStages = `
{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: jq}, spec: {resourceRef: {kind: KIND},
  selector: {matchLabels: {app: web}, matchExpressions: [{key: '.status.count', operator: In, values: ['3']}]},
  weight: 2, weightFrom: {expressionFrom: '.metadata.annotations.weight'},
  delay: {durationMilliseconds: 7, durationFrom: {expressionFrom: '.metadata.annotations.delay'}, jitterDurationFrom: {expressionFrom: '.status.count'}},
  next: {finalizers: {add: [{value: a}]}, statusTemplate: "count: {{ add .status.count 1 }}"}}}
---
{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: cel}, spec: {resourceRef: {kind: KIND},
  selector: {matchExpressions: [{cel: {expression: 'self.status.count > 0 && has(self.metadata.annotations)'}}, {key: '.metadata.name.x', operator: DoesNotExist}]},
  weightFrom: {cel: {expression: 'size(self.metadata.annotations) - 1'}},
  delay: {durationFrom: {cel: {expression: 'self.status.count'}}, jitterDurationFrom: {cel: {expression: 'duration(self.metadata.annotations.delay)'}}},
  steps: [{patch: {type: json, root: status, template: '[{op: replace, path: /count, value: 2}]'}},
    {apply: {template: "{apiVersion: v1, kind: Node, metadata: {name: a}}"}}, {delete: true}]}}
`

// requireAgreement holds every part of an explanation against Candidates and Next.
func requireAgreement(t *testing.T, set *stage.Set, obj *unstructured.Unstructured, seed uint64, e stage.Explanation) {
	candidates := []stage.Candidate{}
	for _, v := range e.Stages {
		missed := slices.ContainsFunc(v.Requirements, func(r selector.Requirement) bool { return !r.OK })
		require.Equal(t, v.Matches, !missed, v.Stage)
		if v.Matches {
			candidates = append(candidates, v.Candidate)
			require.Equal(t, v.Candidate.Stage, v.Stage)
			require.Equal(t, v.Candidate.Weighted, v.Weight.Given)
			require.Equal(t, v.Candidate.Weight, v.Weight.Value)
			require.Equal(t, v.Candidate.Delay, v.Delay.Range)
		}
	}
	require.Equal(t, append([]stage.Candidate{}, set.Candidates(obj, start)...), candidates)
	next, ok := set.Next(obj, start, seed, 0)
	require.Equal(t, len(candidates) > 0, ok)
	if ok {
		i := slices.IndexFunc(candidates, func(c stage.Candidate) bool { return c.Stage == next.Stage })
		require.Positive(t, candidates[i].Probability)
		d := next.Due.Sub(start)
		require.GreaterOrEqual(t, d, max(candidates[i].Delay.Min, 0))
		require.LessOrEqual(t, d, max(candidates[i].Delay.Max, 0))
	}
	sum := 0.0
	for _, c := range candidates {
		sum += c.Probability
	}
	require.True(t, len(candidates) == 0 || math.Abs(sum-1) < 1e-9)
}

// TestOutcomes checks the text about effects.
func TestOutcomes(t *testing.T) {
	for name, tc := range map[string]struct {
		body           string
		idle, livelock bool
	}{
		"an event only":                       {"  selector: {}\n  next: {event: {type: Normal, reason: A}}", true, false},
		"a patch that holds already":          {"  selector: {}\n  next: {statusTemplate: 'phase: Pending'}", true, false},
		"a patch that ends it":                {"  selector: {matchExpressions: [{key: .status.phase, operator: In, values: [Pending]}]}\n  next: {statusTemplate: 'phase: Running'}", false, false},
		"a patch that settles":                {"  selector: {}\n  next: {statusTemplate: 'phase: Running'}", false, false},
		"a counter":                           {"  selector: {}\n  next: {statusTemplate: 'count: {{ add1 (or .status.count 0) }}'}", false, true},
		"a counter with a delay":              {"  selector: {}\n  delay: {durationMilliseconds: 1}\n  next: {statusTemplate: 'count: {{ add1 (or .status.count 0) }}'}", false, false},
		"the time":                            {"  selector: {}\n  next: {statusTemplate: 'at: {{ Now | Quote }}'}", false, true},
		"the time as it is now, with a delay": {"  selector: {}\n  delay: {durationMilliseconds: 2000}\n  next: {statusTemplate: 'startTime: {{ Now | Quote }}'}", false, false},
		"the time with a delay":               {"  selector: {}\n  delay: {durationMilliseconds: 1}\n  next: {statusTemplate: 'at: {{ Now | Quote }}'}", false, false},
		"a delete":                            {"  selector: {}\n  next: {delete: true}", false, false},
		"a finalizer that is added":           {"  selector: {}\n  next: {finalizers: {add: [{value: a}]}}", false, false},
		"an apply of another object":          {"  selector: {}\n  steps: [{apply: {template: '{apiVersion: v1, kind: Pod, metadata: {name: other}}'}}]", true, false},
		"an apply of itself": {"  selector: {}\n  steps:\n  - apply: {template: '{apiVersion: v1, kind: Pod, metadata: {name: web, labels: {a: b}}}'}",
			false, false},
		"a status patch of the spec": {"  selector: {}\n  steps: [{patch: {subresource: status, template: '{spec: {a: {{ Now | Quote }}}}'}}]", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			set := compile(t, stageYAML("a", tc.body))
			o := set.Explain(pod(t, "{}", "{phase: Pending, startTime: '2006-01-02T16:04:05Z'}"), start.Add(time.Hour)).Stages[0].DryRun
			require.NoError(t, o.Err)
			require.Equal(t, tc.idle, o.Idle, "idle")
			require.Equal(t, tc.livelock, o.Livelock, "livelock")
		})
	}
}

func TestDeletedObjectStaysWhileFinalizersHoldIt(t *testing.T) {
	set := compile(t, stageYAML("free", "  selector: {matchExpressions: [{key: .metadata.deletionTimestamp, operator: Exists}]}\n  next: {finalizers: {empty: true}}"),
		stageYAML("go", "  selector: {matchExpressions: [{key: .metadata.deletionTimestamp, operator: DoesNotExist}]}\n  next: {delete: true}"))
	obj := object(t, "{apiVersion: v1, kind: Pod, metadata: {name: a, finalizers: [x]}}")
	held := set.Explain(obj, start).Stages[1].DryRun
	require.Equal(t, start, held.After.GetDeletionTimestamp().UTC())
	require.Nil(t, obj.GetDeletionTimestamp())
	gone := set.Explain(held.After, start).Stages[0].DryRun
	require.Nil(t, gone.After)
	require.False(t, gone.Idle)
}
