package explore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/txtar"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/explore"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// all are the lifecycles in which the simulations below visit every State. In other lifecycles some
// States are rare, or too short for a deletion to happen in them.
var all = []string{"pod-general", "node-chaos", "node-heartbeat"}

// TestEverySimulationIsAPath simulates the lifecycles in testdata with many seeds and a deletion at
// various times, and follows each simulation on the graph.
func TestEverySimulationIsAPath(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		if name == "bound" {
			continue // it ends before the runs do
		}
		t.Run(name, func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			require.NoError(t, err)
			set, objects, o := parts(t, a)
			o.Actions = []explore.Action{explore.Delete()}
			g, err := explore.Explore(t.Context(), set, o, objects...)
			require.NoError(t, err)
			visited := map[int]bool{}
			for seed := range uint64(40) {
				f := graphWalker{t: t, graph: g, visited: visited}
				f.play(set, objects[0], o, seed)
			}
			for _, s := range g.States {
				if slices.Contains(all, name) {
					require.True(t, visited[s.ID], "no run came to %d %s", s.ID, s.Label)
				}
			}
		})
	}
}

// A graphWalker follows a simulation on a graph.
type graphWalker struct {
	t       *testing.T
	graph   *explore.Graph
	at      int
	visited map[int]bool
}

func (f *graphWalker) play(set *stage.Set, obj *unstructured.Unstructured, o explore.Options, seed uint64) {
	ctx := f.t.Context()
	f.visited[0] = true
	sim, err := simulation.New(set, simulation.Options{Seed: seed, Kinds: o.Kinds, Trace: func(e stage.TraceEvent) {
		if e.Kind == stage.TracePlayed {
			f.step(func(tr explore.Transition) bool { return tr.Key.Kind == e.Key.Kind && tr.Stage == e.Stage }, e.String()) // names may hold uids
		}
	}})
	require.NoError(f.t, err)
	data, err := obj.MarshalJSON()
	require.NoError(f.t, err)
	require.NoError(f.t, sim.Cluster().Load(ctx, data))
	if seed > 0 {
		sim.At(sim.Now().Add(time.Duration(seed-1)*400*time.Millisecond+time.Millisecond), func(ctx context.Context) error { return f.delete(ctx, sim.Cluster()) })
	}
	if seed == 1 {
		require.NoError(f.t, f.delete(ctx, sim.Cluster())) // before anything happens
	}
	_, err = sim.Settle(ctx, 5*time.Minute)
	require.NoError(f.t, err)
}

func (f *graphWalker) delete(ctx context.Context, c *memory.Cluster) error {
	key := f.graph.States[0].Key
	obj, err := c.Get(ctx, key.GroupVersionKind(), key.NamespacedName())
	if err != nil || obj.GetDeletionTimestamp() != nil {
		return nil
	}
	f.step(func(tr explore.Transition) bool { return tr.Action != "" }, "delete")
	return c.Delete(ctx, key.GroupVersionKind(), key.NamespacedName(), metav1.DeleteOptions{})
}

func (f *graphWalker) step(is func(explore.Transition) bool, what string) {
	for tr := range f.graph.From(f.at) {
		if is(tr) {
			f.at = tr.To
			f.visited[f.at] = true
			return
		}
	}
	require.Fail(f.t, "not in the graph", fmt.Sprintf("%s in %d %s", what, f.at, f.graph.States[f.at].Label))
}
