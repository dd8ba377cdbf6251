package stage_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/player"
)

// A template's fail prints what an object says: it stays one line, without escape sequences.
func TestAnObjectForgesNoLine(t *testing.T) {
	set, err := stage.Compile(stage.Options{}, stage.Parse("s.yaml", []byte(`
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: a}
spec:
  resourceRef: {kind: Pod}
  selector: {}
  steps: [{patch: {template: '{{ fail .metadata.annotations.text }}'}}]
`)))
	require.NoError(t, err)
	const forged = "no\n15:04:05 Pod default/other deleted \x1b[31mALL\u202e"
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{
		"name": "web", "namespace": "default", "annotations": map[string]any{"text": forged + strings.Repeat("x", 1<<20)},
	}}}
	tr, ok := set.Next(obj, time.Unix(0, 0), 0, 0)
	require.True(t, ok)
	_, err = tr.Effects(obj, time.Unix(0, 0))
	var fault *stage.Error
	require.ErrorAs(t, err, &fault)
	require.Contains(t, fault.Err.Error(), forged, "the field has what there is")

	key, long := stage.Key{Version: "v1", Kind: "Pod", Name: forged}, strings.Repeat("ä", 1<<20)
	patch := stage.Patch{Type: types.MergePatchType, Data: map[string]any{"message": "\u009b31m" + long}}
	for name, text := range map[string]string{
		"error":       err.Error(),
		"send error":  (&player.SendError{Key: key, Stage: "a", Effect: patch, Err: errors.New(forged + long)}).Error(),
		"fault":       (&stage.Error{Stage: forged, Path: "spec", Err: errors.New(forged + long)}).Error(),
		"key":         key.String(),
		"event":       stage.Event{Type: "Normal", Reason: forged, Message: forged + long}.String(),
		"trace":       stage.TraceEvent{Kind: stage.TraceFailed, Key: key, Stage: forged, Err: errors.New(forged + long)}.String(),
		"trace patch": stage.TraceEvent{Kind: stage.TraceEffected, Key: key, Stage: "a", Effect: patch}.String(),
		"explanation": set.Explain(obj, time.Unix(0, 0)).String(),
		"transition":  stage.Transition{Key: key, Stage: forged}.String(),
	} {
		require.NotContains(t, text, "\x1b", name)
		require.NotContains(t, text, "\u009b", name)
		require.NotContains(t, text, "\u202e", name)
		require.NotContains(t, text, "\n15:04:05", name)
		require.Less(t, len(text), 5<<10, name)
	}
}
