package player_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage"
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
