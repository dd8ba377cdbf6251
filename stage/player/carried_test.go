package player

import (
	"testing"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// TestCarriedOut: what a server stores of a patch is told from what it does not.
func TestCarriedOut(t *testing.T) {
	for name, c := range map[string]struct {
		patch, status string
		want          bool
	}{
		"equal":           {"{phase: Running}", "{phase: Running, podIP: 10.0.0.1}", true},
		"other":           {"{phase: Running}", "{phase: Pending}", false},
		"missing":         {"{phase: Running}", "{}", false},
		"nothing":         {"{message: '', reason: null}", "{}", true},
		"was removed":     {"{message: null}", "{message: old}", false},
		"filled in":       {"{containerStatuses: [{name: a}]}", "{containerStatuses: [{name: a, imageID: '', lastState: {}}]}", true},
		"more in a list":  {"{containerStatuses: [{name: a}]}", "{containerStatuses: [{name: a, restartCount: 1}]}", false},
		"added since":     {"{containerStatuses: [{name: a}]}", "{containerStatuses: [{name: a}, {name: b}]}", true},
		"merged list":     {"{conditions: [{type: A, status: x}]}", "{conditions: [{type: B, status: y}, {type: A, status: x}]}", true},
		"cut time":        {"{startTime: '2026-01-01T00:00:00.75Z'}", "{startTime: '2026-01-01T00:00:00Z'}", true},
		"later":           {"{startTime: '2026-01-01T00:00:01Z'}", "{startTime: '2026-01-01T00:00:00Z'}", false},
		"not of its type": {"{conditions: [{type: A}]}", "{conditions: {type: A}}", false},
	} {
		var data map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(c.patch), &data), name)
		p := stage.Patch{Type: types.StrategicMergePatchType, Data: map[string]any{"status": data}}
		require.Equal(t, c.want, carriedOut(p, pod(t, "{unlike: all}"), pod(t, c.status)), name)
	}
}

// TestCarriedOutOfAppends: patches that change something each time they are applied are told by what they changed, whatever others
// changed since.
func TestCarriedOutOfAppends(t *testing.T) {
	before := "{count: 0, phase: p0, list: [a], gone: x}"
	add := func(ops ...any) stage.Patch { return stage.Patch{Type: types.JSONPatchType, Data: ops} }
	op := func(kind, path string, value any) any {
		o := map[string]any{"op": kind, "path": "/status/" + path}
		if value != nil {
			o["value"] = value
		}
		return o
	}
	appends := add(op("add", "list/-", "b"))
	merges := stage.Patch{Type: types.MergePatchType, Data: map[string]any{"status": map[string]any{"count": int64(1), "phase": "p1"}}}
	for name, c := range map[string]struct {
		patch stage.Patch
		now   string
		want  bool
	}{
		"appended":                    {appends, "{count: 0, phase: p0, list: [a, b], gone: x}", true},
		"not appended":                {appends, before, false},
		"appended, others, too":       {appends, "{count: 7, phase: p0, list: [a, b, c], gone: x}", true},
		"only others":                 {appends, "{count: 0, phase: p0, list: [a, c], gone: x}", false},
		"appended before by others":   {appends, "{count: 0, phase: p0, list: [a, a], gone: x}", false},
		"the list is gone":            {appends, "{count: 0}", false},
		"removed":                     {add(op("remove", "gone", nil)), "{count: 0, phase: p0, list: [a]}", true},
		"not removed":                 {add(op("remove", "gone", nil)), before, false},
		"a field was changed since":   {merges, "{count: 1, phase: p9, list: [a]}", true},
		"others set one of them":      {merges, "{count: 1, phase: p0, list: [a]}", false},
		"all was changed since":       {merges, "{count: 5, phase: p9, list: [a]}", false},
		"replaced and appended":       {add(op("add", "list/-", "b"), op("replace", "phase", "p1")), "{phase: p1, list: [a, b]}", true},
		"replaced, item removed soon": {add(op("add", "list/-", "b"), op("replace", "phase", "p1")), "{phase: p1, list: [a]}", false},
	} {
		require.Equal(t, c.want, carriedOut(c.patch, pod(t, before), pod(t, c.now)), name)
	}
}

func pod(t *testing.T, status string) *unstructured.Unstructured {
	t.Helper()
	var fields map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(status), &fields))
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "a"}, "status": fields}}
}
