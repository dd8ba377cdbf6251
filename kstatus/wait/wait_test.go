package wait_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/wait"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// world is a cluster in virtual time, and what happens in it.
type world struct {
	t *testing.T
	*memory.Cluster
}

func (w world) create(manifests ...string) {
	for _, m := range manifests {
		require.NoError(w.t, w.Load(w.t.Context(), []byte(m)))
	}
}

// status merges into the status of an object.
func (w world) status(ref wait.Ref, status string) {
	data, err := yaml.YAMLToJSON([]byte("status: " + status))
	require.NoError(w.t, err)
	_, err = w.Patch(w.t.Context(), ref.Kind, name(ref), types.MergePatchType, data, metav1.PatchOptions{}, subresource(ref)...)
	require.NoError(w.t, err)
}

func subresource(ref wait.Ref) []string {
	if ref.Kind.Kind == "Widget" {
		return nil
	}
	return []string{"status"}
}

func (w world) remove(ref wait.Ref) {
	require.NoError(w.t, w.Delete(w.t.Context(), ref.Kind, name(ref), metav1.DeleteOptions{}))
}

// follow is Events of what is known to be sound.
func follow(tb testing.TB, ctx context.Context, transport transport.Lister, refs []wait.Ref, o wait.Options) iter.Seq[wait.State] {
	events, err := wait.Events(ctx, transport, refs, o)
	require.NoError(tb, err)
	return events
}

func collector(tb testing.TB, refs []wait.Ref, policy wait.Policy) *wait.Collector {
	c, err := wait.NewCollector(refs, policy)
	require.NoError(tb, err)
	return c
}

func name(ref wait.Ref) types.NamespacedName {
	return types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
}

func pod(name string) wait.Ref { return ref("v1", "Pod", name) }

func ref(version, kind, name string) wait.Ref {
	return wait.Ref{Kind: schema.FromAPIVersionAndKind(version, kind), Namespace: "default", Name: name}
}

func manifest(ref wait.Ref, rest string) string {
	version, kind := ref.Kind.ToAPIVersionAndKind()
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata:\n  namespace: %s\n  name: %s\n%s\n", version, kind, ref.Namespace, ref.Name, rest)
}

const (
	podReady   = "{phase: Running, containerStatuses: [], conditions: [{type: Ready, status: 'True'}]}"
	podUnready = "{phase: Running, conditions: [{type: Ready, status: 'False'}]}"
	podCrashes = "{phase: Running, conditions: [], containerStatuses: [{name: app, state: {waiting: {reason: CrashLoopBackOff}}}]}"
)

// A scenario is what happens in a cluster while someone waits. Changes are at least five seconds
// apart, so that polling sees them all.
type scenario struct {
	name      string
	refs      []wait.Ref
	policy    wait.Policy
	timeout   time.Duration // default: a minute
	transport func(*memory.Cluster) transport.Reader
	before    func(world)
	script    []func(world) // five seconds apart
	want      string        // the statuses of each object
	polled    string        // what polling sees of them, if that is less
	err       error         // what the error is
	says      []string      // what the error contains
	after     time.Duration // when the wait must have ended, at most two polls late
}

func TestScenarios(t *testing.T) {
	for _, s := range scenarios() {
		for _, way := range []string{"watched", "polled"} {
			t.Run(s.name+", "+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { s.play(t, way == "polled") })
			})
		}
	}
}

// play runs a scenario. That no goroutine is left, the bubble sees to.
func (s scenario) play(t *testing.T, poll bool) {
	w := world{t, memory.New(memory.Options{})}
	if s.before != nil {
		s.before(w)
	}
	var server transport.Lister = w.Cluster
	if s.transport != nil {
		server = s.transport(w.Cluster)
	}
	if poll {
		server = struct{ transport.Lister }{server}
	}
	var scripts sync.WaitGroup
	defer scripts.Wait()
	scripts.Go(func() {
		for _, act := range s.script {
			time.Sleep(5 * time.Second)
			act(w)
		}
	})
	timeout := s.timeout
	if timeout == 0 {
		timeout = time.Minute
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	began, over := time.Now(), false
	history := map[string][]string{}
	s.policy.Observe = func(_ *wait.Collector, state wait.State) {
		require.False(t, over, "an event came after the end")
		if state.Result.Status == kstatus.Terminating && !strings.Contains(s.want, "Terminating") {
			return // for no time, as Pods are that are bound to no node: a watch may tell or not
		}
		statuses := history[state.Ref.Name]
		if word := string(state.Result.Status); len(statuses) == 0 || statuses[len(statuses)-1] != word {
			history[state.Ref.Name] = append(statuses, word)
		}
	}
	err := wait.For(ctx, server, s.refs, s.policy)
	over = true
	if poll && s.polled != "" {
		s.want = s.polled
	}
	require.Equal(t, s.want, tell(history))
	require.LessOrEqual(t, s.after, time.Since(began))
	require.Less(t, time.Since(began), s.after+5*time.Second)
	s.checkError(t, err)
}

func (s scenario) checkError(t *testing.T, err error) {
	if s.err == nil {
		require.NoError(t, err)
		return
	}
	require.ErrorIs(t, err, s.err)
	var typed *wait.Error
	require.ErrorAs(t, err, &typed)
	for _, text := range s.says {
		require.Contains(t, err.Error(), text)
	}
}

func tell(history map[string][]string) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(history)) {
		lines = append(lines, name+": "+strings.Join(history[name], " "))
	}
	return strings.Join(lines, "; ")
}

func do(acts ...func(world)) []func(world) { return acts }

func nothing(world) {}

func create(ref wait.Ref, rest string) func(world) {
	return func(w world) { w.create(manifest(ref, rest)) }
}

func status(ref wait.Ref, status string) func(world) {
	return func(w world) { w.status(ref, status) }
}

func resume(ref wait.Ref) func(world) {
	return func(w world) {
		_, err := w.Patch(w.t.Context(), ref.Kind, name(ref), types.MergePatchType, []byte(`{"spec":{"suspend":false}}`), metav1.PatchOptions{})
		require.NoError(w.t, err)
	}
}

func remove(ref wait.Ref) func(world) { return func(w world) { w.remove(ref) } }
