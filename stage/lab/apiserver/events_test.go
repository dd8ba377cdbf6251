package apiserver_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// TestEventsOfBothGroups holds that an Event written in one group is read, selected, patched and
// watched in the other.
func TestEventsOfBothGroups(t *testing.T) {
	c := kubernetes.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{}))
	ctx, about := t.Context(), corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "p"}
	core, group := c.CoreV1().Events("default"), c.EventsV1().Events("default")
	seen, err := core.Watch(ctx, metav1.ListOptions{FieldSelector: "reason=Seen"})
	require.NoError(t, err)
	defer seen.Stop()
	_, err = group.Create(ctx, &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: "e"}, EventTime: metav1.MicroTime{Time: time.Unix(0, 0)}, Action: "a", Reason: "Seen", Note: "note", Type: "Normal",
		ReportingController: "example.com/c", ReportingInstance: "i", Regarding: about,
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	got := (<-seen.ResultChan()).Object.(*corev1.Event)
	require.Equal(t, "note example.com/c", got.Message+" "+got.ReportingController)
	require.Equal(t, about, got.InvolvedObject)

	patch := []byte(`{"series":{"count":2,"lastObservedTime":"2026-01-01T00:00:00.000000Z"}}`)
	_, err = group.Patch(ctx, "e", types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	require.NoError(t, err)
	_, err = group.Patch(ctx, "e", types.JSONPatchType, []byte(`[{"op":"replace","path":"/series/count","value":3}]`), metav1.PatchOptions{})
	require.NoError(t, err)
	_, err = group.Patch(ctx, "e", types.JSONPatchType, []byte(`[{"op":"replace","path":"/note","value":"other"}]`), metav1.PatchOptions{})
	require.ErrorContains(t, err, `message: Invalid value: "other": field is immutable`)
	_, err = core.Patch(ctx, "e", types.MergePatchType, []byte(`{"message":"other"}`), metav1.PatchOptions{})
	require.NoError(t, err)
	list, err := group.List(ctx, metav1.ListOptions{FieldSelector: "regarding.name=p,reportingController=example.com/c"})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	require.Equal(t, "other", list.Items[0].Note)
	require.EqualValues(t, 3, list.Items[0].Series.Count)
	_, err = group.List(ctx, metav1.ListOptions{FieldSelector: "note=other"})
	require.ErrorContains(t, err, "field label not supported: note")
	_, err = group.Get(ctx, "none", metav1.GetOptions{})
	require.EqualError(t, err, `events.events.k8s.io "none" not found`)
}
