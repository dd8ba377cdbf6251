package player_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
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

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// Where the tests of this file say "as specified" they mean what the specification of effects says
// on resuming a transition.

// away is a cluster that cannot be reached for a time.
type away struct {
	*memory.Cluster
	hangs bool // requests hang, else they are refused
	away  atomic.Bool
	tries atomic.Int32 // while it was away
}

func (a *away) Share() transport.Transport { return a }

func (a *away) reach(ctx context.Context) error {
	if !a.away.Load() {
		return nil
	}
	if !a.hangs {
		return errors.New("dial tcp 127.0.0.1:6443: connect: connection refused")
	}
	<-ctx.Done()
	return ctx.Err()
}

func (a *away) Patch(ctx context.Context, k schema.GroupVersionKind, n types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*unstructured.Unstructured, error) {
	if a.away.Load() {
		a.tries.Add(1)
	}
	if err := a.reach(ctx); err != nil {
		return nil, err
	}
	return a.Cluster.Patch(ctx, k, n, t, data, o, sub...)
}

func (a *away) List(ctx context.Context, k schema.GroupVersionKind, ns string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	if err := a.reach(ctx); err != nil {
		return nil, err
	}
	return a.Cluster.List(ctx, k, ns, o)
}

// TestAnOutageIsOverForAllAtOnce: a worker with 200 objects neither tries each of them while the
// server is away, nor do they wait for each other when it is back.
func TestAnOutageIsOverForAllAtOnce(t *testing.T) {
	for _, c := range []struct {
		name   string
		hangs  bool
		tries  int           // at most
		within time.Duration // of the return of the server, all is done
	}{
		{"refused", false, 50, 5 * time.Second},
		{"hanging", true, 12, 16 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &away{hangs: c.hangs}
			wrap := func(t transport.Transport) transport.Transport {
				a.Cluster = t.(*memory.Cluster)
				return a
			}
			o := player.Options{Workers: 1, Timeout: 10 * time.Second}
			directing(t, compile(t, delayed("go", "Pending", "Running", 1000)), o, wrap, func(t *testing.T, cluster *memory.Cluster, p *player.Player) {
				for i := range 200 {
					create(t, cluster, newPod(fmt.Sprintf("p%d", i), ""))
				}
				after(500 * time.Millisecond)
				a.away.Store(true)
				after(2 * time.Minute)
				require.LessOrEqual(t, int(a.tries.Load()), c.tries)
				require.Greater(t, int(a.tries.Load()), 5)
				a.away.Store(false)
				after(c.within)
				for i := range 200 {
					require.Equal(t, "Running", phase(t, cluster, types.NamespacedName{Namespace: "default", Name: fmt.Sprintf("p%d", i)}))
				}
				require.Zero(t, p.Stats().Retrying)
			})
		})
	}
}

// As specified: the server says when to come again.
func TestRetryAfterIsHeeded(t *testing.T) {
	var first, second time.Time
	f := &flaky{fail: func(verb, sub string) error {
		if sub != "status" || !second.IsZero() {
			return nil
		}
		if first.IsZero() {
			first = time.Now()
			return apierrors.NewTooManyRequests("slow down", 20)
		}
		second = time.Now()
		return nil
	}}
	playing(t, lifecycle(t), player.Options{}, wrapped(f), func(ctx context.Context, t *testing.T, c *memory.Cluster) {
		create(t, c, newPod("web", ""))
		after(time.Minute)
		require.Equal(t, 20*time.Second, second.Sub(first))
		require.Equal(t, "Succeeded", phase(t, c, webName))
	})
}

// As specified: what is invalid, forbidden or not found is reported, not sent again, and others go
// on.
func TestRefusalsConcernOneObject(t *testing.T) {
	resource := schema.GroupResource{Resource: "pods"}
	for name, refusal := range map[string]error{
		"invalid":     apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "web", nil),
		"forbidden":   apierrors.NewForbidden(resource, "web", errors.New("no")),
		"not found":   apierrors.NewNotFound(resource, "web"),
		"bad request": apierrors.NewBadRequest("what?"),
		"media type":  apierrors.NewGenericServerResponse(415, "patch", resource, "web", "", 0, false),
	} {
		t.Run(name, func(t *testing.T) {
			refused := 0
			f := &flaky{fail: func(verb, sub string) error {
				if verb == "patch" && refused == 0 {
					refused++
					return refusal
				}
				return nil
			}}
			var failed []stage.TraceEvent
			o := player.Options{Workers: 1, Trace: func(e stage.TraceEvent) {
				if e.Kind == stage.TraceFailed {
					failed = append(failed, e)
				}
			}}
			playing(t, compile(t, delayed("go", "Pending", "Running", 1000)), o, wrapped(f), func(ctx context.Context, t *testing.T, c *memory.Cluster) {
				create(t, c, newPod("web", ""))
				create(t, c, newPod("web2", ""))
				after(time.Hour)
				require.Equal(t, 2, f.count("patch status"))
				require.Equal(t, "Pending", phase(t, c, webName))
				require.Equal(t, "Running", phase(t, c, types.NamespacedName{Namespace: "default", Name: "web2"}))
				require.Len(t, failed, 1)
				require.ErrorContains(t, failed[0].Err, `stage "go"`)
			})
		})
	}
}

// As specified: each effect after the first is for the version that the one before it left.
func TestEffectsFollowEachOthersVersions(t *testing.T) {
	set := compile(t, phased("go", "Pending", "  steps: [{patch: {root: metadata, template: 'labels: {a: b}'}}, {patch: {subresource: status, root: status, template: 'phase: Running'}}]"))
	s := &spy{}
	wrap := func(t transport.Transport) transport.Transport {
		s.Cluster = t.(*memory.Cluster)
		return s
	}
	playing(t, set, player.Options{}, wrap, func(ctx context.Context, t *testing.T, c *memory.Cluster) {
		created := create(t, c, newPod("web", ""))
		synctest.Wait()
		require.Len(t, s.asked, 2)
		require.Equal(t, created.GetResourceVersion(), s.asked[0])
		require.Equal(t, s.got[0], s.asked[1])
		require.NotEqual(t, s.asked[0], s.asked[1])
	})
}

// spy records the resourceVersions that patches require, and the resourceVersions of their results.
type spy struct {
	*memory.Cluster
	asked, got []string
}

func (s *spy) Share() transport.Transport { return s }

func (s *spy) Patch(ctx context.Context, k schema.GroupVersionKind, n types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*unstructured.Unstructured, error) {
	var patch struct{ Metadata metav1.ObjectMeta }
	if err := json.Unmarshal(data, &patch); err != nil {
		return nil, err
	}
	obj, err := s.Cluster.Patch(ctx, k, n, t, data, o, sub...)
	s.asked, s.got = append(s.asked, patch.Metadata.ResourceVersion), append(s.got, obj.GetResourceVersion())
	return obj, err
}

func (f *flaky) total() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.calls)
}

// As specified: the transition is dropped when a conflict shows that the object is gone, or is
// another one; the new object has its own life. The same is true for a Delete whose UID no longer
// exists.
func TestConflictWithAnotherObject(t *testing.T) {
	for _, effect := range []string{"  delay: {durationMilliseconds: 1000}\n  next: {statusTemplate: 'phase: Running'}", "  delay: {durationMilliseconds: 1000}\n  next: {delete: true}"} {
		for _, replaced := range []bool{true, false} {
			t.Run(fmt.Sprint(effect[45:], replaced), func(t *testing.T) {
				f := &flaky{}
				var once sync.Once
				f.fail = func(verb, sub string) error {
					var conflict error
					once.Do(func() {
						conflict = apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "web", errors.New("the UID is another"))
						grace := int64(0)
						_ = f.Cluster.Delete(context.Background(), podKind, webName, metav1.DeleteOptions{GracePeriodSeconds: &grace})
						if replaced {
							_, _ = f.Cluster.Create(context.Background(), newPod("web", ""), metav1.CreateOptions{})
						}
					})
					return conflict
				}
				playing(t, compile(t, phased("go", "Pending", effect)), player.Options{}, wrapped(f), func(ctx context.Context, t *testing.T, c *memory.Cluster) {
					create(t, c, newPod("web", ""))
					after(1500 * time.Millisecond)
					require.Equal(t, 1, f.total(), "what was begun for the old object is not sent for the new one")
					after(time.Hour)
					if replaced {
						require.Equal(t, 2, f.total(), "the new one has its own transition")
					} else {
						require.Equal(t, 1, f.total())
					}
				})
			})
		}
	}
}

// As specified: pauses grow. A server that always sees a conflict is not asked all the time.
func TestConflictsWithoutEndAreTriedLessAndLess(t *testing.T) {
	f := &flaky{fail: func(string, string) error {
		return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "web", errors.New("again"))
	}}
	playing(t, compile(t, delayed("go", "Pending", "Running", 0)), player.Options{}, wrapped(f), func(ctx context.Context, t *testing.T, c *memory.Cluster) {
		create(t, c, newPod("web", ""))
		after(10 * time.Minute)
		require.Less(t, f.count("patch status"), 50)
		require.Greater(t, f.count("patch status"), 15)
	})
}

// A young server closes the watch of a client that does not read ten events in time.
type young struct{ *memory.Cluster }

func (y young) Share() transport.Transport { return y }

func (y young) Watch(ctx context.Context, k schema.GroupVersionKind, ns string, o metav1.ListOptions) (watch.Interface, error) {
	real, err := y.Cluster.Watch(ctx, k, ns, o)
	if err != nil {
		return nil, err
	}
	changes := make(chan watch.Event)
	go func() {
		defer close(changes)
		defer real.Stop()
		for range 10 {
			select {
			case e, ok := <-real.ResultChan():
				if !ok {
					return
				}
				changes <- e
			case <-ctx.Done():
				return
			}
		}
	}()
	return watch.NewProxyWatcher(changes), nil
}

// TestAYoungServerCutsWatches: nothing is lost, nothing is played twice, and it does not take long:
// 1,000 Pods have 3,000 events at least, 10 to a watch.
func TestAYoungServerCutsWatches(t *testing.T) {
	var played atomic.Int32
	o := player.Options{Trace: func(e stage.TraceEvent) {
		if e.Kind == stage.TracePlayed {
			played.Add(1)
		}
	}}
	playing(t, compile(t, delayed("go", "Pending", "Running", 1000)), o, func(t transport.Transport) transport.Transport { return young{t.(*memory.Cluster)} },
		func(ctx context.Context, t *testing.T, c *memory.Cluster) {
			for i := range 1000 {
				create(t, c, newPod(fmt.Sprintf("p%d", i), ""))
				time.Sleep(2 * time.Millisecond)
			}
			after(25 * time.Second)
			for i := range 1000 {
				require.Equal(t, "Running", phase(t, c, types.NamespacedName{Namespace: "default", Name: fmt.Sprintf("p%d", i)}))
			}
			require.EqualValues(t, 1000, played.Load())
		})
}
