package kube_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/stagecraft-go/stagecraft/stage/kube"
)

var (
	coreEvents = schema.GroupVersionKind{Version: "v1", Kind: "Event"}
	newEvents  = schema.GroupVersionKind{Group: "events.k8s.io", Version: "v1", Kind: "Event"}
	noon       = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
)

// A eventServer is a cluster that Events are sent to.
type eventServer struct {
	*testing.T
	cluster *kube.Cluster
	client  *fake.FakeDynamicClient
}

func newEventServer(t *testing.T, kinds ...schema.GroupVersionKind) eventServer {
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, k := range append(kinds, coreEvents) {
		mapper.Add(k, meta.RESTScopeNamespace)
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		{Version: "v1", Resource: "events"}:                         "EventList",
		{Group: "events.k8s.io", Version: "v1", Resource: "events"}: "EventList",
	})
	return eventServer{t, kube.New(client, mapper), client}
}

// told is an Event in the form in which a player makes it.
func told(name, message string, at time.Time) *unstructured.Unstructured {
	stamp := at.Format(time.RFC3339)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Event", "metadata": map[string]any{"namespace": "shop", "name": name},
		"involvedObject": map[string]any{"apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "a", "uid": "u1", "resourceVersion": name},
		"type":           "Warning", "reason": "BackOff", "message": message, "source": map[string]any{"component": "stagecraft"},
		"firstTimestamp": stamp, "lastTimestamp": stamp, "count": int64(1), "reportingComponent": "stagecraft", "reportingInstance": "",
	}}
}

func (n eventServer) tell(name, message string, at time.Time) error {
	_, err := n.cluster.Create(n.Context(), told(name, message, at), metav1.CreateOptions{FieldManager: "stagecraft"})
	return err
}

// loses returns a switch. While it is on, writes of Events are done, and their answers lost.
func (n eventServer) loses() *bool {
	lose := true
	n.client.PrependReactor("*", "events", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if verb := action.GetVerb(); !lose || verb != "create" && verb != "patch" {
			return false, nil, nil
		}
		handled, _, err := clienttesting.ObjectReaction(n.client.Tracker())(action)
		if handled && err == nil {
			err = errors.New("connection reset")
		}
		return true, nil, err
	})
	return &lose
}

// want checks that the cluster has exactly these Events, each printed as `name note xcount`.
func (n eventServer) want(lines ...string) {
	n.Helper()
	list, err := n.cluster.List(n.Context(), newEvents, "shop", metav1.ListOptions{})
	require.NoError(n, err)
	var got []string
	for _, e := range list.Items {
		count, _, _ := unstructured.NestedInt64(e.Object, "series", "count")
		got = append(got, fmt.Sprintf("%s %v x%d", e.GetName(), e.Object["note"], max(count, 1)))
	}
	require.ElementsMatch(n, lines, got)
}

func TestEventsThatSayTheSameAreOne(t *testing.T) {
	n := newEventServer(t, newEvents)
	require.NoError(t, n.tell("a.1", "no", noon))
	require.NoError(t, n.tell("a.2", "no", noon.Add(time.Minute)))
	require.NoError(t, n.tell("a.3", "yes", noon.Add(time.Minute)))
	require.NoError(t, n.tell("a.4", "no", noon.Add(7*time.Minute)))
	n.want("a.1 no x3", "a.3 yes x1")

	first, err := n.cluster.Get(t.Context(), newEvents, types.NamespacedName{Namespace: "shop", Name: "a.1"})
	require.NoError(t, err)
	delete(first.Object, "metadata")
	require.Equal(t, map[string]any{
		"apiVersion": "events.k8s.io/v1", "kind": "Event",
		"regarding": map[string]any{"apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "a", "uid": "u1", "resourceVersion": "a.1"},
		"type":      "Warning", "reason": "BackOff", "note": "no", "action": "Play", "eventTime": "2026-01-02T12:00:00.000000Z",
		"reportingController": "stagecraft", "reportingInstance": "stagecraft",
		"series": map[string]any{"count": int64(3), "lastObservedTime": "2026-01-02T12:07:00.000000Z"},
	}, first.Object)

	require.NoError(t, n.tell("a.5", "no", noon.Add(14*time.Minute)))
	n.want("a.1 no x3", "a.3 yes x1", "a.5 no x1")
}

func TestARepeatedRequestDoesNotCountTwice(t *testing.T) {
	n := newEventServer(t, newEvents)
	for _, name := range []string{"a.1", "a.2"} {
		require.NoError(t, n.tell(name, "no", noon))
		require.True(t, apierrors.IsAlreadyExists(n.tell(name, "no", noon)))
	}
	n.want("a.1 no x2")

	lost := errors.New("connection reset")
	verbs := 0
	n.client.PrependReactor("*", "events", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if verbs++; verbs == 1 && action.GetVerb() == "patch" {
			return true, nil, lost
		}
		return false, nil, nil
	})
	require.ErrorIs(t, n.tell("a.3", "no", noon), lost)
	require.NoError(t, n.tell("a.3", "no", noon))
	n.want("a.1 no x3")
}

func TestEventsWhoseCreationFailedAreCreated(t *testing.T) {
	n := newEventServer(t, newEvents)
	fails := errors.New("server is away")
	n.client.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) { return fails != nil, nil, fails })
	require.ErrorIs(t, n.tell("a.1", "no", noon), fails)
	require.ErrorIs(t, n.tell("a.2", "no", noon), fails)
	fails = nil
	require.NoError(t, n.tell("a.2", "no", noon))
	require.NoError(t, n.tell("a.3", "no", noon))
	n.want("a.2 no x2")
}

func TestEventsThatExpiredAreCreatedAnew(t *testing.T) {
	n := newEventServer(t, newEvents)
	require.NoError(t, n.tell("a.1", "no", noon))
	require.NoError(t, n.cluster.Delete(t.Context(), newEvents, types.NamespacedName{Namespace: "shop", Name: "a.1"}, metav1.DeleteOptions{}))
	require.NoError(t, n.tell("a.2", "no", noon))
	require.NoError(t, n.tell("a.3", "no", noon))
	n.want("a.2 no x2")
}

func TestTheMemoryOfEventsIsBounded(t *testing.T) {
	n := newEventServer(t, newEvents)
	for i := range 4096 {
		require.NoError(t, n.tell(fmt.Sprintf("a.%d", i), fmt.Sprint("no ", i), noon))
	}
	require.NoError(t, n.tell("b", "no 0", noon)) // now "no 1" is the oldest
	require.NoError(t, n.tell("c", "yes", noon))
	require.NoError(t, n.tell("d", "no 0", noon))
	require.NoError(t, n.tell("e", "no 1", noon))
	list, err := n.cluster.List(t.Context(), newEvents, "shop", metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 4098)
}

func TestLongTextsAreCut(t *testing.T) {
	n := newEventServer(t, newEvents)
	require.NoError(t, n.tell("a.1", strings.Repeat("ü", 1000), noon))
	n.want("a.1 " + strings.Repeat("ü", 510) + "... x1")
}

func TestOtherEventsStayAsTheyAre(t *testing.T) {
	foreign := told("a.1", "no", noon)
	foreign.Object["reportingComponent"] = "kubelet"
	empty := told("a.2", "no", noon)
	empty.Object["reason"] = ""
	for name, c := range map[string]struct {
		event *unstructured.Unstructured
		kinds []schema.GroupVersionKind
	}{
		"of others":                {foreign, []schema.GroupVersionKind{newEvents}},
		"without a reason":         {empty, []schema.GroupVersionKind{newEvents}},
		"to a server without both": {told("a.3", "no", noon), nil},
	} {
		n := newEventServer(t, c.kinds...)
		got, err := n.cluster.Create(t.Context(), c.event, metav1.CreateOptions{})
		require.NoError(t, err, name)
		require.Equal(t, coreEvents, got.GroupVersionKind(), name)
	}
}
