package memory_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// caller makes random calls, so that the same seed plays the same.
type caller struct {
	*rand.Rand
	t testing.TB
	*memory.Cluster
}

var playable = []schema.GroupVersionKind{pods, configMaps, jobs, namespaces}

// playground is the namespace of all objects. The test also creates and deletes it.
const playground = "play"

func play(t testing.TB, seed uint64, calls int) *memory.Cluster {
	now := time.Unix(0, 0)
	c := memory.New(memory.Options{Seed: seed, Now: func() time.Time { return now }})
	p := caller{rand.New(rand.NewPCG(seed, 0)), t, c}
	for range calls {
		now = now.Add(time.Second)
		p.call()
	}
	return c
}

func (p caller) place() (schema.GroupVersionKind, types.NamespacedName) {
	kind := playable[p.IntN(len(playable))]
	if kind == namespaces {
		return kind, types.NamespacedName{Name: playground}
	}
	return kind, types.NamespacedName{Namespace: playground, Name: fmt.Sprintf("o%d", p.IntN(4))}
}

// call makes one call; most errors are part of the play.
func (p caller) call() {
	kind, name := p.place()
	switch p.IntN(5) {
	case 0, 1:
		_, _ = p.Create(p.t.Context(), p.object(kind, name.Name), metav1.CreateOptions{})
	case 2:
		o := metav1.DeleteOptions{}
		if p.IntN(2) == 0 {
			policy := []metav1.DeletionPropagation{metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan}[p.IntN(2)]
			o.PropagationPolicy, o.GracePeriodSeconds = &policy, new(int64)
		}
		_ = p.Delete(p.t.Context(), kind, name, o)
	case 3:
		body := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"labels":{"l%d":"1"}}}`, kind.GroupVersion(), kind.Kind, name.Name, p.IntN(3))
		o := metav1.PatchOptions{FieldManager: fmt.Sprintf("m%d", p.IntN(2)), Force: new(true)}
		_, _ = p.Patch(p.t.Context(), kind, name, types.ApplyPatchType, []byte(body), o)
	default:
		bodies := []string{`{"metadata":{"finalizers":null}}`, `{"metadata":{"finalizers":["example.com/f"]}}`, `{"spec":{"x":1}}`, `{"spec":{"x":2}}`, `{"metadata":{"labels":{"l0":"2"}}}`}
		_, _ = p.Patch(p.t.Context(), kind, name, types.MergePatchType, []byte(bodies[p.IntN(len(bodies))]), metav1.PatchOptions{})
	}
}

func (p caller) object(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	u := object(kind, name)
	u.SetNamespace(playground)
	if p.IntN(2) == 0 {
		u.Object["spec"] = map[string]any{"nodeName": "n"}
	}
	if p.IntN(4) == 0 {
		u.SetFinalizers([]string{"example.com/f"})
	}
	for range p.IntN(3) {
		ownerKind, ownerName := p.place()
		if owner, err := p.Get(p.t.Context(), ownerKind, ownerName); err == nil && ownerKind != namespaces {
			owned(u, owner)
		}
	}
	return u
}

func dump(t testing.TB, c *memory.Cluster) (out string) {
	for _, kind := range playable {
		list, err := c.List(t.Context(), kind, "", metav1.ListOptions{})
		require.NoError(t, err)
		for _, u := range list.Items {
			text, err := json.Marshal(u.Object)
			require.NoError(t, err)
			out += string(text) + "\n"
		}
	}
	return out
}

func TestTheSameCallsGiveTheSameObjects(t *testing.T) {
	for seed := range uint64(effort.Of(20)) {
		require.Equal(t, dump(t, play(t, seed, 200)), dump(t, play(t, seed, 200)))
	}
}

func TestAWatchReplaysToWhatAListShows(t *testing.T) {
	for seed := range uint64(effort.Of(50)) {
		synctest.Test(t, func(t *testing.T) {
			c := play(t, seed, 300)
			for _, kind := range playable {
				list, err := c.List(t.Context(), kind, "", metav1.ListOptions{})
				require.NoError(t, err)
				want := map[string]string{}
				for _, u := range list.Items {
					want[u.GetName()] = u.GetResourceVersion()
				}
				require.Equal(t, want, replay(t, c, kind), "seed %d: %s", seed, kind.Kind)
			}
		})
	}
}

// replay builds the present from the events since the beginning. The watch ends after
// a second of virtual time, which passes when all events are read.
func replay(t *testing.T, c *memory.Cluster, kind schema.GroupVersionKind) map[string]string {
	w, err := c.Watch(t.Context(), kind, "", metav1.ListOptions{ResourceVersion: "1", TimeoutSeconds: new(int64(1))})
	require.NoError(t, err)
	state := map[string]string{}
	for e := range w.ResultChan() {
		u := e.Object.(*unstructured.Unstructured)
		_, there := state[u.GetName()]
		require.Equal(t, e.Type != watch.Added, there, "%s %s", e.Type, u.GetName())
		state[u.GetName()] = u.GetResourceVersion()
		if e.Type == watch.Deleted {
			delete(state, u.GetName())
		}
	}
	return state
}

func TestNothingOutlivesItsOwners(t *testing.T) {
	for seed := range uint64(effort.Of(50)) {
		requireNothingOutlivesItsOwners(t, play(t, seed, 300))
	}
}

func requireNothingOutlivesItsOwners(t *testing.T, c *memory.Cluster) {
	t.Helper()
	alive := map[types.UID]bool{}
	var all []unstructured.Unstructured
	for _, kind := range playable {
		list, err := c.List(t.Context(), kind, "", metav1.ListOptions{})
		require.NoError(t, err)
		all = append(all, list.Items...)
	}
	for _, u := range all {
		alive[u.GetUID()] = true
	}
	for _, u := range all {
		require.False(t, u.GetKind() != "Namespace" && u.GetDeletionTimestamp() != nil && len(u.GetFinalizers()) == 0 && *u.GetDeletionGracePeriodSeconds() == 0, "%v", u)
		for _, ref := range u.GetOwnerReferences() {
			require.True(t, alive[ref.UID] || u.GetDeletionTimestamp() != nil, "%v", u)
		}
	}
}
