package wait_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/wait"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// counting is a cluster that counts its requests.
type counting struct {
	*memory.Cluster
	lists, watches atomic.Int32
}

func (c *counting) List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	c.lists.Add(1)
	return c.Cluster.List(ctx, kind, namespace, o)
}

func (c *counting) Watch(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error) {
	c.watches.Add(1)
	return c.Cluster.Watch(ctx, kind, namespace, o)
}

// many are references to Pods in a number of namespaces, and the Pods.
func many(tb testing.TB, n, namespaces int, status string) ([]wait.Ref, *memory.Cluster) {
	cluster := memory.New(memory.Options{})
	refs := make([]wait.Ref, n)
	for i := range refs {
		refs[i] = pod(fmt.Sprintf("pod-%05d", i))
		refs[i].Namespace = fmt.Sprintf("namespace-%d", i%namespaces)
		require.NoError(tb, cluster.Load(tb.Context(), []byte(manifest(refs[i], "status: "+status))))
	}
	return refs, cluster
}

func TestManyObjects(t *testing.T) {
	for _, c := range []struct {
		name       string
		n          int
		namespaces int
		poll       bool
		lists      int32 // at most
		watches    int32
	}{
		{name: "of a namespace, watched", n: effort.Of(5000), namespaces: 1, lists: 10, watches: 1},
		{name: "of some namespaces, watched", n: 500, namespaces: 10, lists: 10, watches: 10},
		{name: "of many namespaces, watched", n: 500, namespaces: 50, lists: 10, watches: 1},
		{name: "of a namespace, polled", n: effort.Of(5000), namespaces: 1, lists: 10 * 16, poll: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				refs, cluster := many(t, c.n, c.namespaces, podUnready)
				w := world{t, cluster}
				go func() {
					time.Sleep(10 * time.Second)
					for i, ref := range refs {
						w.status(ref, podReady)
						if i%200 == 0 {
							time.Sleep(time.Second / 2)
						}
					}
				}()
				events := 0
				transport := &counting{Cluster: cluster.Shared()}
				policy := wait.Policy{Observe: func(*wait.Collector, wait.State) { events++ }}
				require.NoError(t, wait.For(t.Context(), lister(transport, c.poll), refs, policy))
				require.Equal(t, 2*len(refs), events)
				require.LessOrEqual(t, transport.lists.Load(), c.lists)
				require.Equal(t, c.watches, transport.watches.Load())
			})
		})
	}
}

func lister(server transport.Reader, poll bool) transport.Lister {
	if poll {
		return struct{ transport.Lister }{server}
	}
	return server
}

func TestChildrenAreNotLookedUpInVain(t *testing.T) {
	for _, c := range []struct {
		name    string
		rules   *kstatus.Rules
		status  string
		watches int32
	}{
		{name: "no rule heeds them", rules: kstatus.Standard(), watches: 1},
		{name: "the verdict is sure", rules: kstatus.Extended(), status: `
status: {observedGeneration: 1, conditions: [{type: Progressing, status: 'False', reason: ProgressDeadlineExceeded}]}`, watches: 1},
		{name: "they explain", rules: kstatus.Extended(), watches: 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := world{t, memory.New(memory.Options{})}
				w.create(manifest(deployment, selects+c.status))
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				transport := &counting{Cluster: w.Cluster}
				require.Error(t, wait.For(ctx, transport, []wait.Ref{deployment}, wait.Policy{Options: wait.Options{Rules: c.rules}}))
				require.Equal(t, c.watches, transport.watches.Load())
			})
		})
	}
}

// BenchmarkMemory tells how much is kept for each object that is waited for, the reference not
// counted: `-bench Memory -benchtime 1x`.
func BenchmarkMemory(b *testing.B) {
	const n = 50_000
	refs, cluster := many(b, n, 1, podUnready)
	for b.Loop() {
		before := heap()
		seen := 0
		for range follow(b, b.Context(), cluster.Shared(), refs, wait.Options{}) {
			if seen++; seen == n {
				b.ReportMetric(float64(heap()-before)/n, "B/object")
				break
			}
		}
	}
	runtime.KeepAlive(refs)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkFollow tells what one change of one of many objects costs, from the cluster to the
// event.
func BenchmarkFollow(b *testing.B) {
	refs, cluster := many(b, 5000, 1, podUnready)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	patches := []string{`{"status":{"phase":"Pending"}}`, `{"status":{"phase":"Running"}}`}
	i, seen := 0, 0
	b.ReportAllocs()
	for range follow(b, ctx, cluster.Shared(), refs, wait.Options{Rules: kstatus.Standard()}) {
		if seen++; seen < len(refs) {
			continue
		}
		if seen == len(refs) {
			b.ResetTimer()
		}
		if i == b.N {
			return
		}
		ref := refs[i%len(refs)]
		_, err := cluster.Patch(ctx, ref.Kind, name(ref), "application/merge-patch+json", []byte(patches[(i/len(refs))%2]), metav1.PatchOptions{}, "status")
		require.NoError(b, err)
		i++
	}
}
