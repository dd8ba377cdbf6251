package player_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// mutatingWriter changes all that it is given to create.
type mutatingWriter struct {
	transport.Writer
	sources []any // of Events, as they came
}

func (s *mutatingWriter) Create(_ context.Context, obj *unstructured.Unstructured, _ metav1.CreateOptions) (*unstructured.Unstructured, error) {
	source := obj.Object["source"].(map[string]any)
	s.sources = append(s.sources, source["component"])
	source["component"] = "changed"
	clear(obj.Object["metadata"].(map[string]any))
	return obj, nil
}

func TestWritersMayChangeWhatTheyAreGiven(t *testing.T) {
	set := stage.MustCompile(stage.Parse("s.yaml", []byte(stageYAML("s", `
  selector: {matchLabels: {app: work}}
  next: {event: {type: Normal, reason: Seen, message: here}}`))))
	s := &mutatingWriter{}
	work := object(t, "{apiVersion: v1, kind: Pod, metadata: {name: work, namespace: default, labels: {app: work}}}")
	for range 2 {
		transition, ok := set.Next(work, time.Now(), 1, 0)
		require.True(t, ok)
		_, err := player.Do(t.Context(), s, transition, work, player.DoOptions{})
		require.NoError(t, err)
	}
	require.Equal(t, []any{"stagecraft", "stagecraft"}, s.sources)
}

// TestDoWithoutATimeTakesTheCurrentOne checks the zero DoOptions.
func TestDoWithoutATimeTakesTheCurrentOne(t *testing.T) {
	set := stage.MustCompile(stage.Parse("s.yaml", []byte(stageYAML("s", `
  selector: {matchLabels: {app: work}}
  next: {patches: [{root: metadata, template: 'annotations: {at: {{ Now | Quote }}}'}]}`))))
	synctest.Test(t, func(t *testing.T) {
		cluster := memory.New(memory.Options{})
		work, err := cluster.Create(t.Context(), object(t, "{apiVersion: v1, kind: Pod, metadata: {name: work, namespace: default, labels: {app: work}}}"), metav1.CreateOptions{})
		require.NoError(t, err)
		transition, ok := set.Next(work, time.Now(), 1, 0)
		require.True(t, ok)
		var traced time.Time
		work, err = player.Do(t.Context(), cluster, transition, work, player.DoOptions{Trace: func(e stage.TraceEvent) { traced = e.Time }})
		require.NoError(t, err)
		require.Equal(t, time.Now().UTC().Format(time.RFC3339Nano), work.GetAnnotations()["at"])
		require.Equal(t, time.Now(), traced)
	})
}
