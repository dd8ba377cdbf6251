package player_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/player"
)

func labelled(t *testing.T, name, label string) *unstructured.Unstructured {
	obj := newPod(name, "")
	obj.SetLabels(map[string]string{"app": label})
	return obj
}

func label(t *testing.T, c *memory.Cluster, name types.NamespacedName, label string) {
	t.Helper()
	_, err := c.Patch(t.Context(), podKind, name, types.MergePatchType, []byte(fmt.Sprintf(`{"metadata":{"labels":{"app":%q}}}`, label)), metav1.PatchOptions{})
	require.NoError(t, err)
}

func TestOnlySelectedObjectsArePlayed(t *testing.T) {
	o := player.Options{Select: map[schema.GroupVersionKind]player.Selection{podKind: {Labels: "app=ours", Fields: "spec.nodeName=node"}}}
	directing(t, lifecycle(t), o, nil, func(t *testing.T, c *memory.Cluster, p *player.Player) {
		elsewhere := labelled(t, "elsewhere", "ours")
		require.NoError(t, unstructured.SetNestedField(elsewhere.Object, "other", "spec", "nodeName"))
		create(t, c, elsewhere)
		create(t, c, labelled(t, "web", "ours"))
		create(t, c, labelled(t, "leaving", "ours"))
		create(t, c, labelled(t, "coming", "theirs"))
		after(500 * time.Millisecond)
		require.Equal(t, 2, p.Stats().Objects)
		leaving, coming := types.NamespacedName{Namespace: "default", Name: "leaving"}, types.NamespacedName{Namespace: "default", Name: "coming"}
		label(t, c, leaving, "theirs")
		label(t, c, coming, "ours")
		after(700 * time.Millisecond)
		require.Equal(t, "Running", phase(t, c, webName))
		require.Equal(t, "Pending", phase(t, c, leaving), "what leaves the selection counts as gone")
		require.Equal(t, "Pending", phase(t, c, coming), "half a second too early")
		after(time.Minute)
		require.Equal(t, "Succeeded", phase(t, c, coming))
		require.Equal(t, "Pending", phase(t, c, leaving))
		require.Equal(t, "Pending", phase(t, c, types.NamespacedName{Namespace: "default", Name: "elsewhere"}))
	})
}

func TestPlaysChooses(t *testing.T) {
	var nobody atomic.Bool
	o := player.Options{Filter: func(obj *unstructured.Unstructured) bool { return !nobody.Load() && obj.GetLabels()["app"] == "ours" }}
	directing(t, lifecycle(t), o, nil, func(t *testing.T, c *memory.Cluster, p *player.Player) {
		theirs := types.NamespacedName{Namespace: "default", Name: "theirs"}
		create(t, c, labelled(t, "web", "ours"))
		create(t, c, labelled(t, "theirs", "theirs"))
		after(1100 * time.Millisecond)
		require.Equal(t, "Running", phase(t, c, webName))
		require.Equal(t, "Pending", phase(t, c, theirs))
		require.Equal(t, 1, p.Stats().Objects)

		nobody.Store(true)
		p.Refilter()
		synctest.Wait()
		require.Zero(t, p.Stats())
		after(time.Minute)
		require.Equal(t, "Running", phase(t, c, webName), "what was pending is cancelled")

		nobody.Store(false)
		p.Refilter()
		synctest.Wait()
		require.Equal(t, player.Stats{Objects: 1, Pending: 1}, p.Stats())
		p.Refilter()
		after(900 * time.Millisecond)
		require.Equal(t, "Running", phase(t, c, webName), "the delay begins anew")
		after(200 * time.Millisecond)
		require.Equal(t, "Succeeded", phase(t, c, webName), "but not at each time that it is asked")

		label(t, c, theirs, "ours")
		after(5 * time.Second)
		require.Equal(t, "Succeeded", phase(t, c, theirs), "a change of the object is reason enough to ask")
	})
}

// TestReconsiderTouchesOnlyWhatChanges: a Stage whose effect changes nothing is not played again
// because of a call of Refilter.
func TestReconsiderTouchesOnlyWhatChanges(t *testing.T) {
	var played atomic.Int32
	o := player.Options{
		Filter: func(*unstructured.Unstructured) bool { return true },
		Trace: func(e stage.TraceEvent) {
			if e.Kind == stage.TracePlayed {
				played.Add(1)
			}
		},
	}
	set := compile(t, stageYAML("tell", "  selector: {}\n  next: {event: {type: Normal, reason: Seen, message: seen}}"))
	directing(t, set, o, nil, func(t *testing.T, c *memory.Cluster, p *player.Player) {
		create(t, c, newPod("web", ""))
		for range 5 {
			p.Refilter()
			after(time.Second)
		}
		require.EqualValues(t, 1, played.Load())
	})
}

// TestWhoMayNoLongerPlayStopsAtOnce: the right is lost between two effects, and again while one
// waits to be sent another time.
func TestWhoMayNoLongerPlayStopsAtOnce(t *testing.T) {
	steps := phased("go", "Pending", "  steps: [{patch: {root: metadata, template: 'labels: {one: done}'}}, {patch: {root: metadata, template: 'labels: {two: done}'}}]")
	for _, failure := range []error{nil, apierrors.NewServiceUnavailable("away")} {
		t.Run(fmt.Sprint(failure), func(t *testing.T) {
			var lost, again atomic.Bool
			f := &flaky{fail: func(string, string) error {
				if again.Load() || lost.Swap(true) {
					return nil
				}
				return failure
			}}
			o := player.Options{Filter: func(*unstructured.Unstructured) bool { return !lost.Load() }}
			directing(t, compile(t, steps), o, wrapped(f), func(t *testing.T, c *memory.Cluster, p *player.Player) {
				create(t, c, newPod("web", ""))
				after(time.Minute)
				require.Equal(t, 1, f.count("patch"), "not even when nobody says so")
				again.Store(true)
				lost.Store(false)
				p.Refilter()
				after(time.Minute)
				obj, err := c.Get(t.Context(), podKind, webName)
				require.NoError(t, err)
				require.Equal(t, map[string]string{"one": "done", "two": "done"}, obj.GetLabels())
				require.Zero(t, p.Stats().Retrying)
			})
		})
	}
}

// TestManyOrdersAtOnce is for the race detector.
func TestManyOrdersAtOnce(t *testing.T) {
	var odd atomic.Bool
	o := player.Options{Filter: func(obj *unstructured.Unstructured) bool { return !odd.Load() || obj.GetName()[1]%2 == 1 }}
	sets := []*stage.Set{compile(t, delayed("a", "Pending", "Running", 100)), compile(t, delayed("b", "Running", "Pending", 100)), compile(t)}
	directing(t, sets[0], o, nil, func(t *testing.T, c *memory.Cluster, p *player.Player) {
		for i := range 100 {
			create(t, c, newPod(fmt.Sprintf("p%d", i), ""))
		}
		for worker := range 4 {
			go func() {
				for i := range 25 {
					p.Use(sets[(i+worker)%len(sets)])
					odd.Store(i%2 == 0)
					p.Refilter()
					p.Stats()
					time.Sleep(7 * time.Millisecond)
				}
			}()
		}
		after(5 * time.Second)
		odd.Store(false)
		p.Refilter()
		for _, last := range []int{1, 0} {
			p.Use(sets[last])
			after(time.Second)
		}
		for i := range 100 {
			require.Equal(t, "Running", phase(t, c, types.NamespacedName{Namespace: "default", Name: fmt.Sprintf("p%d", i)}))
		}
	})
}
