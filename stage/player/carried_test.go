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
		"longer list":     {"{containerStatuses: [{name: a}]}", "{containerStatuses: [{name: a}, {name: b}]}", false},
		"merged list":     {"{conditions: [{type: A, status: x}]}", "{conditions: [{type: B, status: y}, {type: A, status: x}]}", true},
		"cut time":        {"{startTime: '2026-01-01T00:00:00.75Z'}", "{startTime: '2026-01-01T00:00:00Z'}", true},
		"later":           {"{startTime: '2026-01-01T00:00:01Z'}", "{startTime: '2026-01-01T00:00:00Z'}", false},
		"not of its type": {"{conditions: [{type: A}]}", "{conditions: {type: A}}", false},
	} {
		var data, status map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(c.patch), &data), name)
		require.NoError(t, yaml.Unmarshal([]byte(c.status), &status), name)
		p := stage.Patch{Type: types.StrategicMergePatchType, Data: map[string]any{"status": data}}
		obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "a"}, "status": status}}
		require.Equal(t, c.want, carriedOut(p, obj), name)
	}
}
