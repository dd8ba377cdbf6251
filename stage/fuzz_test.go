package stage_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

// FuzzNext decides and renders for arbitrary objects: never a panic, the object unchanged, the same
// answer twice.
func FuzzNext(f *testing.F) {
	for _, s := range []string{
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"c"}],"nodeName":"n"}}`,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","finalizers":["x"],"deletionTimestamp":"2006-01-02T15:04:05Z"}}`,
		`{"apiVersion":"v1","kind":"Pod","status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]},"metadata":{"ownerReferences":[{"kind":"Job"}]}}`,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"pod-create.stage.kwok.x-k8s.io/delay":"1x","pod-create.stage.kwok.x-k8s.io/weight":"-1"}},"spec":[]}`,
		`{"apiVersion":"v1","kind":"Node","status":{"conditions":[[]],"phase":{}}}`,
		`{"apiVersion":"v1","kind":"PersistentVolumeClaim","spec":{"storageClassName":"kwok-volume"},"metadata":{"uid":1}}`,
	} {
		f.Add(s, uint64(1))
	}
	set, err := stage.Compile(stage.Options{}, presets.NodeFast(), presets.NodeHeartbeat(), presets.NodeChaos(), presets.PodGeneral(), presets.PodChaos(), presets.Volumes())
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		var fields map[string]any
		if utiljson.Unmarshal([]byte(text), &fields) != nil || fields == nil {
			return
		}
		obj := &unstructured.Unstructured{Object: fields}
		before := obj.DeepCopy()
		first := decide(set, obj, seed)
		require.Equal(t, before, obj)
		require.Equal(t, first, decide(set, obj, seed))
	})
}

// decision is all that a Set says about an object.
type decision struct {
	candidates []stage.Candidate
	transition string
	due        time.Time
	effects    []string
	noop       []bool
	failure    string
}

func decide(set *stage.Set, obj *unstructured.Unstructured, seed uint64) (d decision) {
	d.candidates = set.Candidates(obj, start)
	t, ok := set.Next(obj, start, seed, 0)
	if !ok {
		return d
	}
	d.transition, d.due = t.String(), t.Due
	effects, err := t.Effects(obj, start)
	if err != nil {
		d.failure = err.Error()
	}
	for _, e := range effects {
		d.effects = append(d.effects, e.String())
		if p, ok := e.(stage.Patch); ok {
			same, err := p.NoOp(obj)
			d.noop = append(d.noop, same, err == nil)
		}
	}
	return d
}
