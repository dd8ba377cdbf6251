package stage_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/stagecraft-go/stagecraft/stage"
)

// addresses are of nodes and pods: those of a dry run are placeholders.
var addresses = regexp.MustCompile(`\b\d+(\.\d+){3}\b`)

// random matches functions that draw.
var random = regexp.MustCompile(`(?i)rand|shuffle|uuid|gen`)

// requireNext holds what an explanation says against what an Engine with the seed does next with
// the object. It returns whether something was played.
func requireNext(t *testing.T, set *stage.Set, obj *unstructured.Unstructured, seed uint64) bool {
	t.Helper()
	e := set.Explain(obj, start)
	answer, _, _ := strings.Cut(e.String(), "\n")
	engine := stage.NewEngine(set, stage.EngineOptions{Seed: seed})
	require.NoError(t, engine.Observe(obj, start))
	due, pending := engine.NextDue()
	if !pending {
		require.Regexp(t, "nothing happens: (no stage |the object has no kind|it is deleted)", answer)
		return false
	}
	next := slices.Collect(engine.Due(due))[0]
	v := e.Stages[slices.IndexFunc(e.Stages, func(v stage.StageExplanation) bool { return v.Stage == next.Stage })]
	require.Contains(t, answer, strconv.Quote(next.Stage))
	require.Positive(t, v.Candidate.Probability)
	require.False(t, due.Before(v.DryRun.Due), "due %s, said %s", due, v.DryRun.Due)
	if due.Equal(v.DryRun.Due) {
		requirePlayed(t, v, answer, carryOut(obj, next))
	}
	return true
}

// An ending is what became of an object when a transition was played.
type ending struct {
	effects []string
	after   *unstructured.Unstructured // nil: gone
	same    bool
	err     error
}

// requirePlayed holds a dry run against what happened.
func requirePlayed(t *testing.T, v stage.StageExplanation, answer string, got ending) {
	t.Helper()
	require.Equal(t, v.DryRun.Err == nil, got.err == nil, "said %v, got %v", v.DryRun.Err, got.err)
	require.Equal(t, got.err != nil, strings.Contains(answer, "effects fail") && v.DryRun.Err != nil, answer)
	if got.err != nil {
		return
	}
	said := []string{}
	for _, effect := range v.DryRun.Effects {
		said = append(said, addresses.ReplaceAllString(effect.String(), "<ip>"))
	}
	require.Equal(t, len(said), len(got.effects))
	require.Equal(t, v.DryRun.After == nil, got.after == nil)
	if v.Delay.Range.Max <= v.Delay.Range.Min {
		require.Equal(t, v.DryRun.Idle, got.same, "%s", got.effects)
	}
	if v.DryRun.Idle {
		require.Regexp(t, "nothing happens|leaves the object as it is|changes nothing", answer)
	}
	if answer == "" || strings.Contains(answer, "nothing happens: ") {
		require.True(t, got.same, answer)
	}
}

// carryOut plays a transition as a player does, with what an API server lets through.
func carryOut(obj *unstructured.Unstructured, next stage.Transition) (got ending) {
	list, err := next.Effects(obj, next.Due)
	if err != nil {
		return ending{err: err}
	}
	got.after = obj
	for _, effect := range list {
		got.effects = append(got.effects, addresses.ReplaceAllString(effect.String(), "<ip>"))
	}
	for _, effect := range list {
		switch effect := effect.(type) {
		case stage.Patch:
			got.after, got.err = patched(got.after, effect)
		case stage.Apply:
			if isSame(obj, effect.Object) {
				got.after, got.err = patched(got.after, asPatch(effect))
			}
		case stage.Delete:
			got.after = deletedAt(got.after, next.Due)
		}
		if got.after == nil || got.err != nil {
			return got
		}
	}
	got.same = reflect.DeepEqual(plain(obj.Object), plain(got.after.Object))
	return got
}

func isSame(obj, applied *unstructured.Unstructured) bool {
	own, target := stage.KeyOf(obj), stage.KeyOf(applied)
	if target.Namespace == "" {
		target.Namespace = own.Namespace
	}
	return own == target
}

// asPatch returns an Apply as a merge patch of the object. An Apply does the same to fields that no
// other client has applied.
func asPatch(a stage.Apply) stage.Patch {
	p := stage.Patch{Type: types.MergePatchType, Subresource: a.Subresource, Data: a.Object.Object}
	if a.Type == types.StrategicMergePatchType {
		p.Type = a.Type
	}
	return p
}

func deletedAt(obj *unstructured.Unstructured, at time.Time) *unstructured.Unstructured {
	if len(obj.GetFinalizers()) == 0 {
		return nil
	}
	if obj.GetDeletionTimestamp() == nil {
		obj = obj.DeepCopy()
		obj.SetDeletionTimestamp(&metav1.Time{Time: at})
	}
	return obj
}

func patched(obj *unstructured.Unstructured, p stage.Patch) (*unstructured.Unstructured, error) {
	result, err := p.Result(obj)
	fields, ok := result.(map[string]any)
	if err != nil || !ok {
		return nil, err
	}
	switch p.Subresource {
	case "status":
		whole := maps.Clone(obj.Object)
		if delete(whole, "status"); fields["status"] != nil {
			whole["status"] = fields["status"]
		}
		fields = whole
	case "":
	default:
		fields = obj.Object
	}
	after := &unstructured.Unstructured{Object: fields}
	if !reflect.DeepEqual(plain(fields), plain(obj.Object)) && after.GetDeletionTimestamp() != nil && len(after.GetFinalizers()) == 0 {
		return nil, nil
	}
	return after, nil
}

func plain(v any) any {
	data, _ := json.Marshal(v)
	var same any
	_ = utiljson.Unmarshal(data, &same)
	return same
}

const corpus = "../../shared/conformance/stage"

// TestExplainIsWhatAnEngineDoesOverTheCorpus explains every recorded object with its Stages.
func TestExplainIsWhatAnEngineDoesOverTheCorpus(t *testing.T) {
	inputs, err := filepath.Glob(filepath.Join(corpus, "*", "*.input.yaml"))
	require.NoError(t, err)
	if len(inputs) == 0 {
		t.Skip("the recorded cases are not beside this repository")
	}
	played := 0
	for _, input := range inputs {
		t.Run(filepath.Base(filepath.Dir(input))+"/"+filepath.Base(input), func(t *testing.T) {
			stages, err := stage.Load(filepath.Join(filepath.Dir(input), "stages"))
			require.NoError(t, err)
			set, err := stage.Compile(stage.Options{Lenient: true}, stages)
			require.NoError(t, err)
			text, err := os.ReadFile(input)
			require.NoError(t, err)
			obj := object(t, string(text))
			for seed := range uint64(5) {
				if requireNext(t, set, obj, seed) {
					played++
				}
			}
		})
	}
	t.Logf("%d objects, %d of %d Engines played a Stage", len(inputs), played, 5*len(inputs))
}

// FuzzExplainSet explains objects with Stages of all shapes.
func FuzzExplainSet(f *testing.F) {
	const node = `{"apiVersion":"v1","kind":"Node","metadata":{"name":"a","labels":{"app":"web"},"annotations":{"weight":"3","delay":"5s"}},"status":{"count":3,"startTime":"2006-01-02T15:04:05Z"}}`
	f.Add(strings.ReplaceAll(nodeStages, "KIND", "Node"), node, uint64(1))
	head := "{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: a}, spec: {resourceRef: {kind: Node}, selector: {}, "
	for _, rest := range []string{
		"delay: {durationMilliseconds: 2000}, next: {statusTemplate: 'startTime: {{ Now | Quote }}'}}}",
		"next: {statusTemplate: 'startTime: {{ Now | Quote }}'}}}",
		"delay: {durationMilliseconds: 1, jitterDurationMilliseconds: 9000}, next: {statusTemplate: 'startTime: \"{{ Now }}\"'}}}",
		"next: {event: {type: Normal, reason: A}}}}",
		"next: {statusTemplate: 'a: {{ index .status.none 3 }}'}}}",
		"delay: {durationMilliseconds: 5}, next: {statusTemplate: '{{ if lt (Now | len) 3 }}a: b{{ else }}{{ fail \"x\" }}{{ end }}'}}}",
		"steps: [{finalizers: {add: [{value: a}]}}, {delete: true}]}}",
		"steps: [{delete: true}]}}",
		"steps: [{patch: {type: json, template: '[{op: test, path: /status/count, value: 4}]'}}]}}",
		"steps: [{patch: {subresource: scale, template: 'spec: {a: b}'}}]}}",
		"steps: [{apply: {template: '{apiVersion: v1, kind: Node, metadata: {name: a, labels: {x: y}}}'}}]}}",
		"weightFrom: {cel: {expression: 'Rand() > 0.5 ? 1 : 0'}}, delay: {durationFrom: {cel: {expression: 'Rand() * 1000.0'}}}, next: {statusTemplate: 'a: b'}}}",
	} {
		f.Add(head+rest, node, uint64(2))
	}
	for _, extension := range []string{
		"delay: 'logNormal: {median: 3s, p90: 8s}'", "delay: 'offset: -1h'", "delay: 'quantiles: {p0: 1s, p100: 9s}'",
		"patches: '[{increment: .status.count}, {condition: Ready, template: \"status: True\"}]'", "patches: '[{increment: .status.none[3].a}]'",
	} {
		annotated := strings.Replace(head, "{name: a}", "{name: a, annotations: {stagecraft-go.github.io/"+extension+"}}", 1)
		f.Add(annotated+"delay: {durationMilliseconds: 2000}, next: {statusTemplate: 'a: b'}}}", node, uint64(2))
	}
	f.Fuzz(func(t *testing.T, stages, text string, seed uint64) {
		var fields map[string]any
		set, err := stage.Compile(stage.Options{Lenient: true, Extensions: true}, stage.Parse("stages.yaml", []byte(stages)))
		if err != nil || utiljson.Unmarshal([]byte(text), &fields) != nil || fields == nil {
			return
		}
		if random.MatchString(stages) {
			seed = 0 // which is that of an explanation
		}
		requireNext(t, set, &unstructured.Unstructured{Object: fields}, seed)
	})
}
