package player_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage/transport"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/player"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

func TestPlayer(t *testing.T) {
	for _, tc := range []struct {
		name string
		run  func(*hub)
	}{
		{"moves the workload", func(h *hub) {
			h.play(func() {
				h.turn()
				h.turn()
				require.Equal(t, []string{"s.stage.dev"}, h.exist())
				h.available = map[string]int64{"dev1": 1}
				for range 4 {
					h.turn()
				}
			})
		}},
		{"goes on after a restart at every step", func(h *hub) {
			h.available = map[string]int64{"dev1": 1}
			for range 8 {
				h.play(h.turn)
			}
		}},
		{"survives writes that fail", func(h *hub) {
			h.available = map[string]int64{"dev1": 1}
			n := 0
			h.fail = func(verb, name string) error {
				if n++; n%3 == 1 {
					return apierrors.NewConflict(schema.GroupResource{}, name, fmt.Errorf("write %d", n))
				}
				return nil
			}
			h.play(func() {
				for range 12 {
					h.turn()
				}
			})
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHub(t, twoStages(""))
				tc.run(h)
				require.Equal(t, []string{"s.stage.prod"}, h.exist())
				require.Equal(t, "prod", h.status.ActiveStage)
				require.True(t, h.holds("Succeeded"))
			})
		})
	}
}

func TestPlayerKeepsASoakOverARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, twoStages("    soak: 1m\n"))
		h.available = map[string]int64{"dev1": 1}
		h.play(func() { h.turn(); h.turn() })
		since := h.status.Stages[0].SatisfiedSince
		require.NotNil(t, since)
		h.play(func() {
			h.turn()
			require.True(t, since.Equal(h.status.Stages[0].SatisfiedSince))
			time.Sleep(57 * time.Second)
			h.turn()
			require.Equal(t, "dev", h.status.ActiveStage, "nobody looked meanwhile, which does not count")
			time.Sleep(4 * time.Second)
			h.turn()
			require.Equal(t, "prod", h.status.ActiveStage, "the player wakes by itself")
		})
	})
}

// told are the reasons and messages of the Events on the hub, in order.
func (h *hub) told() (told []string) {
	list, err := h.cluster.List(h.t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "Event"}, metav1.NamespaceDefault, metav1.ListOptions{FieldSelector: "involvedObject.kind=" + v1alpha1.Kind + ",involvedObject.name=s"})
	require.NoError(h.t, err)
	for _, e := range list.Items {
		told = append(told, fmt.Sprint(e.Object["type"], " ", e.Object["reason"], ": ", e.Object["message"]))
	}
	return told
}

func TestPlayerWritesEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, twoStages(""))
		h.events = h.cluster
		h.available = map[string]int64{"dev1": 1}
		h.play(func() {
			for range 6 {
				h.turn()
			}
		})
		require.Equal(t, []string{
			`Normal StageStarted: stage "dev"`,
			`Normal BindingPolicyCreated: created BindingPolicy s.stage.dev`,
			`Normal StageSatisfied: stage "dev" is satisfied`,
			`Normal StageStarted: stage "prod"`,
			`Normal BindingPolicyCreated: created BindingPolicy s.stage.prod`,
			`Normal Succeeded: stage "prod" is the last`,
			`Normal BindingPolicyDeleted: deleted BindingPolicy s.stage.dev`,
		}, h.told())
		h.play(func() { h.turn(); h.turn() })
		require.Len(t, h.told(), 7, "a restart tells nothing twice")
	})
}

type noEvents struct{}

func (noEvents) Create(context.Context, *unstructured.Unstructured, metav1.CreateOptions) (*unstructured.Unstructured, error) {
	return nil, errors.New("forbidden")
}

func TestEventsThatFailDoNotStopAPlayer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, twoStages(""))
		h.events = noEvents{}
		failures := 0
		h.trace = func(e player.TraceEvent) {
			if e.Err != nil {
				require.EqualError(t, e.Err, "forbidden")
				failures++
			}
		}
		h.available = map[string]int64{"dev1": 1}
		h.play(func() {
			for range 6 {
				h.turn()
			}
		})
		require.True(t, h.holds("Succeeded"))
		require.Equal(t, 7, failures)
	})
}

// work puts what a cluster says of the workload into the inventory and transport space.
func (h *hub) work(cluster string, applied bool) { h.workOf(cluster, 2, applied) }

func (h *hub) workOf(cluster string, generation int64, applied bool) {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": control.Group + "/" + control.Version, "kind": "WorkStatus",
		"metadata":      map[string]any{"namespace": cluster, "name": "appsv1-deployment-shop-web"},
		"spec":          map[string]any{"sourceRef": map[string]any{"group": "apps", "version": "v1", "resource": "deployments", "kind": "Deployment", "namespace": "shop", "name": "web"}},
		"statusDetails": map[string]any{"lastGeneration": generation, "lastGenerationIsApplied": applied},
	}}
	h.put(obj.Object)
}

// A13: KubeStellar's add-on creates each WorkStatus with lastGeneration 0 and lastGenerationIsApplied
// false, and never fills them in. Such a WorkStatus is a report.
func TestWorkStatusesAsTheAddOnWritesThemAreReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, twoStages("    condition: num('sum') >= 1\n    guards: {allowErrors: true}\n"))
		h.works = h.cluster
		h.available = map[string]int64{"dev1": 1}
		h.play(func() {
			h.turn()
			h.turn()
			require.Equal(t, "dev", h.status.ActiveStage)
			h.workOf("dev1", 0, false)
			h.turn()
			h.turn()
			require.Equal(t, "prod", h.status.ActiveStage, h.status.Stages[0].Message)
		})
	})
}

func TestPlayerReadsWorkStatuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, twoStages("    condition: num('sum') >= 1\n    guards: {allowErrors: true}\n"))
		h.works = h.cluster
		h.clusters["dev2"] = map[string]string{"env": "dev", "name": "dev2"}
		h.available = map[string]int64{"dev1": 1, "dev2": 1}
		h.work("dev1", true)
		h.play(func() {
			wait := func(late string) {
				h.turn()
				h.turn()
				require.Equal(t, "dev", h.status.ActiveStage)
				require.Equal(t, "no status of the bound workload from "+late+" (deployments.apps shop/web)", h.status.Stages[0].Message)
			}
			h.turn()
			wait("dev2")
			h.work("dev2", false)
			wait("dev2")
			require.NoError(t, h.cluster.Delete(t.Context(), workStatusKind, types.NamespacedName{Namespace: "dev1", Name: "appsv1-deployment-shop-web"}, metav1.DeleteOptions{}))
			wait("dev1, dev2")
			h.work("dev2", true)
			wait("dev1")
		})
		h.work("dev1", true)
		h.play(func() {
			h.turn()
			h.turn()
			require.Equal(t, "prod", h.status.ActiveStage, "a restart knows them too")
		})
	})
}

// A Player is not told that the clusters have changed: it asks.
func TestPlayerAsksForClusters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, twoStages("    maxConcurrency: 1\n"))
		var known atomic.Pointer[map[string]map[string]string]
		known.Store(new(map[string]map[string]string))
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- player.Play(ctx, hubTransport{h.cluster, h}, player.Options{Clusters: func() map[string]map[string]string { return *known.Load() }})
		}()
		h.turn()
		require.Empty(t, h.exist())
		require.True(t, h.holds("Stalled"))
		known.Store(&h.clusters)
		time.Sleep(10 * time.Second)
		h.turn()
		require.Equal(t, []string{"s.stage.dev.1"}, h.exist())
		stop()
		require.ErrorIs(t, <-done, context.Canceled)
	})
}

func TestPlayerBringsAnEditToThePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, twoStages(""))
		h.play(func() {
			h.turn()
			_, err := h.cluster.Patch(t.Context(), stagedPolicyKind, types.NamespacedName{Name: "s"}, types.JSONPatchType,
				[]byte(`[{"op": "remove", "path": "/spec/stages/0/clusterSelectors"}]`), metav1.PatchOptions{})
			require.NoError(t, err)
			h.turn()
			require.Empty(t, h.policies["s.stage.dev"].Spec.ClusterSelectors)
		})
	})
}

// version is that of the StagedBindingPolicy.
func (h *hub) version() string {
	obj, err := h.cluster.Get(h.t.Context(), stagedPolicyKind, types.NamespacedName{Name: "s"})
	require.NoError(h.t, err)
	return obj.GetResourceVersion()
}

func TestPlayerTellsOfFaultsInTheStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, twoStages(""))
		set := func(condition string) {
			_, err := h.cluster.Patch(t.Context(), stagedPolicyKind, types.NamespacedName{Name: "s"}, types.JSONPatchType,
				[]byte(`[{"op": "replace", "path": "/spec/stages/0/condition", "value": "`+condition+`"}]`), metav1.PatchOptions{})
			require.NoError(t, err)
		}
		set("nums('sum') == 1")
		h.play(func() {
			h.turn()
			require.Empty(t, h.exist())
			require.True(t, h.holds("Stalled"))
			require.Contains(t, h.status.Conditions[0].Message, "undeclared reference to 'nums'")
			set("num('sum') == 1")
			h.turn()
			require.False(t, h.holds("Stalled"))
			set("num('sum') = 1")
			h.turn()
			require.True(t, h.holds("Stalled"))
			written := h.version()
			h.turn()
			h.turn()
			require.Equal(t, written, h.version(), "and not told again and again")
			h.available = map[string]int64{"dev1": 1}
			for range 4 {
				h.turn()
			}
			require.Equal(t, []string{"s.stage.prod"}, h.exist(), "the last good version is still at work")
		})
	})
}

// A silent reader returns neither results nor errors.
type silent struct {
	transport.Getter // not called
	lists            bool
}

func (s silent) List(context.Context, schema.GroupVersionKind, string, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	if s.lists {
		return &unstructured.UnstructuredList{Object: map[string]any{"metadata": map[string]any{"resourceVersion": "1"}}}, nil
	}
	return nil, nil
}

func (silent) Watch(context.Context, schema.GroupVersionKind, string, metav1.ListOptions) (watch.Interface, error) {
	return nil, nil
}

func TestPlayerSurvivesReadersThatAnswerNothing(t *testing.T) {
	for _, lists := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h := newHub(t, twoStages("    condition: num('sum') >= 1\n"))
			h.works = silent{lists: lists}
			var failures int
			h.trace = func(e player.TraceEvent) {
				if e.Err != nil && strings.Contains(e.Err.Error(), "neither a result nor an error") {
					failures++
				}
			}
			h.play(func() { time.Sleep(time.Minute) })
			require.Positive(t, failures)
		})
	}
}
