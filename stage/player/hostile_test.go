package player_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// confused is a cluster that gives, at every third patch, the answer to an earlier one, and loses
// the patch.
type confused struct {
	*memory.Cluster
	mu      sync.Mutex
	n       int
	another *unstructured.Unstructured
	uid     bool // the answer has the right name, and another uid
}

func (c *confused) Share() transport.Transport { return c }

func (c *confused) Patch(ctx context.Context, k schema.GroupVersionKind, n types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*unstructured.Unstructured, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n++; c.n%3 == 0 && c.another != nil {
		answer := c.another.DeepCopy()
		if c.uid {
			answer.SetName(n.Name)
		}
		return answer, nil
	}
	obj, err := c.Cluster.Patch(ctx, k, n, t, data, o, sub...)
	if err == nil {
		c.another = obj.DeepCopy()
	}
	return obj, err
}

// The answer to a patch is believed only if it is the object that was patched.
func TestAnswersOfOtherObjects(t *testing.T) {
	for _, uid := range []bool{false, true} {
		t.Run(fmt.Sprint("uid=", uid), func(t *testing.T) {
			var failures atomic.Int64
			o := player.Options{Trace: func(e stage.TraceEvent) {
				if e.Err != nil && strings.Contains(e.Err.Error(), "answered with another object") {
					failures.Add(1)
				}
			}}
			wrap := func(c transport.Transport) transport.Transport {
				return &confused{Cluster: c.(*memory.Cluster), uid: uid}
			}
			playing(t, stage.MustCompile(presets.PodFast()), o, wrap, func(ctx context.Context, t *testing.T, c *memory.Cluster) {
				for i := range 50 {
					create(t, c, newPod(fmt.Sprint("pod-", i), ""))
				}
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				for i := range 50 {
					require.Equal(t, "Running", phase(t, c, types.NamespacedName{Namespace: "default", Name: fmt.Sprint("pod-", i)}))
				}
			})
			require.NotZero(t, failures.Load())
		})
	}
}

// panicking is a cluster whose methods panic at their first calls.
type panicking struct {
	*memory.Cluster
	mu    sync.Mutex
	calls map[string]int
}

func (p *panicking) Share() transport.Transport { return p }

func (p *panicking) call(method string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls[method]++; p.calls[method] <= 3 {
		panic("no " + method)
	}
}

func (p *panicking) List(ctx context.Context, k schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	p.call("list")
	return p.Cluster.List(ctx, k, namespace, o)
}

func (p *panicking) Watch(ctx context.Context, k schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error) {
	p.call("watch")
	return p.Cluster.Watch(ctx, k, namespace, o)
}

func (p *panicking) Patch(ctx context.Context, k schema.GroupVersionKind, n types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*unstructured.Unstructured, error) {
	p.call("patch")
	return p.Cluster.Patch(ctx, k, n, t, data, o, sub...)
}

func (p *panicking) Delete(ctx context.Context, k schema.GroupVersionKind, n types.NamespacedName, o metav1.DeleteOptions) error {
	if o.GracePeriodSeconds != nil {
		p.call("delete")
	}
	return p.Cluster.Delete(ctx, k, n, o)
}

// A panic in a transport is a failed request: it is traced, and the request is tried again.
func TestPanicsOfATransport(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]bool{}
	o := player.Options{Trace: func(e stage.TraceEvent) {
		mu.Lock()
		defer mu.Unlock()
		for _, method := range []string{"list", "watch", "patch", "delete"} {
			if e.Err != nil && strings.Contains(e.Err.Error(), "the transport panicked: no "+method) {
				seen[method] = true
			}
		}
	}}
	wrap := func(c transport.Transport) transport.Transport {
		return &panicking{Cluster: c.(*memory.Cluster), calls: map[string]int{}}
	}
	playing(t, stage.MustCompile(presets.PodFast()), o, wrap, func(ctx context.Context, t *testing.T, c *memory.Cluster) {
		create(t, c, newPod("web", ""))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		require.Equal(t, "Running", phase(t, c, webName))
		require.NoError(t, c.Delete(ctx, podKind, webName, metav1.DeleteOptions{}))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		require.Equal(t, "gone", phase(t, c, webName))
	})
	require.Equal(t, map[string]bool{"list": true, "watch": true, "patch": true, "delete": true}, seen)
}

// A Trace that blocks blocks the worker that calls it, as its contract says. Once it returns, Run
// ends.
func TestABlockingTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memory.New(memory.Options{})
		create(t, cluster, newPod("web", ""))
		release := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		o := player.Options{Trace: func(stage.TraceEvent) { <-release }}
		go func() { done <- player.Play(ctx, stage.MustCompile(presets.PodFast()), cluster, o) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		require.Empty(t, done, "Run has not ended, and does not leave the goroutine behind")
		close(release)
		require.ErrorIs(t, <-done, context.Canceled)
	})
}
