package wait_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
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

	"github.com/stagecraft-go/stagecraft/kstatus/wait"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A lyingServer answers with errors, old lists, lists without an object, other objects, events twice,
// events of old versions, watches that end, that never send anything or that have expired.
type lyingServer struct {
	*memory.Cluster
	mu     sync.Mutex
	random *rand.Rand
	heals  time.Time
	old    []*unstructured.UnstructuredList
}

// lies reports whether this answer is a lie, and which of n.
func (l *lyingServer) lies(n int) (int, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.random.IntN(n), time.Now().Before(l.heals) && l.random.IntN(3) == 0
}

func (l *lyingServer) List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	which, lies := l.lies(6)
	list, err := l.Cluster.List(ctx, kind, namespace, o)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.old = append(l.old, list.DeepCopy())
	stale, slow := l.old[l.random.IntN(len(l.old))].DeepCopy(), time.Duration(l.random.IntN(20))*time.Second
	l.mu.Unlock()
	if !lies {
		return list, nil
	}
	switch which {
	case 0:
		return nil, errors.New("connection refused")
	case 1:
		return nil, apierrors.NewResourceExpired("too old")
	case 2:
		return nil, apierrors.NewTooManyRequests("slower", 1)
	case 3:
		return stale, nil
	case 4:
		for i := range list.Items {
			list.Items[i].SetName("another")
		}
		return list, nil
	}
	time.Sleep(slow)
	return list, ctx.Err()
}

func (l *lyingServer) Watch(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error) {
	which, lies := l.lies(5)
	real, err := l.Cluster.Watch(ctx, kind, namespace, o)
	if err != nil || !lies {
		return real, err
	}
	switch which {
	case 0:
		real.Stop()
		return nil, errors.New("connection refused")
	case 1:
		real.Stop()
		return nil, apierrors.NewResourceExpired("too old")
	}
	w := &lyingWatch{real: real, events: make(chan watch.Event), stopped: make(chan struct{})}
	w.stop = sync.OnceFunc(func() { close(w.stopped); real.Stop() })
	go w.lie(l, which)
	return w, nil
}

// A lyingWatch sends each event twice, and old ones once more, and ends at some time.
type lyingWatch struct {
	real    watch.Interface
	events  chan watch.Event
	stopped chan struct{}
	stop    func()
}

func (w *lyingWatch) ResultChan() <-chan watch.Event { return w.events }
func (w *lyingWatch) Stop()                          { w.stop() }

func (w *lyingWatch) send(e watch.Event) bool {
	select {
	case w.events <- watch.Event{Type: e.Type, Object: e.Object.DeepCopyObject()}:
		return true
	case <-w.stopped:
		return false
	}
}

func (w *lyingWatch) lie(l *lyingServer, which int) {
	defer close(w.events)
	defer w.stop()
	var seen []watch.Event
	end := time.After(time.Duration(which) * 10 * time.Second)
	for {
		select {
		case <-w.stopped:
			return
		case <-end:
			if which == 2 {
				expired := apierrors.NewResourceExpired("too old").Status()
				w.send(watch.Event{Type: watch.Error, Object: &expired})
			}
			return
		case e, ok := <-w.real.ResultChan():
			if !ok {
				return
			}
			seen = append(seen, e)
			n, _ := l.lies(len(seen))
			if !w.send(e) || !w.send(e) || !w.send(seen[n]) {
				return
			}
		}
	}
}

var gadgetKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gadget"}

// gadget is an object whose verdict has its version as the message.
func gadget(name string, version int, ready bool) *unstructured.Unstructured {
	status := map[bool]string{true: "True", false: "False"}[ready]
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": map[string]any{"name": name, "namespace": "default"},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": status, "reason": "R", "message": fmt.Sprint(version)}}},
	}}
}

var servers = flag.Uint64("servers", 300, "how many lying servers TestLyingServers waits on")

// TestLyingServers waits for objects on servers that lie for some minutes, at random. No verdict comes
// from an older version of an object than the verdict before. A wait whose objects become ready ends
// once the server is sound again; any other ends at its deadline. No goroutine stays: synctest waits
// for all.
func TestLyingServers(t *testing.T) {
	for seed := range *servers {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 7))
			server := &lyingServer{Cluster: memory.New(memory.Options{Kinds: []memory.Kind{{GroupVersionKind: gadgetKind}}}), random: random, heals: time.Now().Add(5 * time.Minute)}
			never := random.IntN(3) == 0
			var refs []wait.Ref
			for i := range 3 {
				obj := gadget(fmt.Sprint("w", i), 0, false)
				refs = append(refs, wait.RefOf(obj))
				_, err := server.Create(t.Context(), obj, metav1.CreateOptions{})
				require.NoError(t, err)
			}
			changing := make(chan struct{})
			go func() {
				defer close(changing)
				changes := rand.New(rand.NewPCG(seed, 8))
				for version := 1; version <= 20; version++ {
					time.Sleep(time.Duration(changes.IntN(30)) * time.Second)
					for i := range 3 {
						obj, err := server.Get(context.Background(), gadgetKind, types.NamespacedName{Namespace: "default", Name: fmt.Sprint("w", i)})
						require.NoError(t, err)
						obj.Object["status"] = gadget("", version, version == 20 && !never).Object["status"]
						_, err = server.Update(context.Background(), obj, metav1.UpdateOptions{})
						require.NoError(t, err)
					}
				}
			}()
			last := map[wait.Ref]int{}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
			defer cancel()
			began := time.Now()
			err := wait.For(ctx, server, refs, wait.Policy{Observe: func(_ *wait.Collector, s wait.State) {
				version, err := strconv.Atoi(s.Result.Message())
				if err != nil {
					return // not seen, or the look-up failed
				}
				require.GreaterOrEqual(t, version, last[s.Ref], "seed %d: %s has an older verdict", seed, s.Ref)
				last[s.Ref] = version
			}})
			if never {
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, 20*time.Minute, time.Since(began))
			} else {
				require.NoError(t, err, "seed %d", seed)
				require.Less(t, time.Since(began), 15*time.Minute)
			}
			for _, ref := range refs {
				require.Equal(t, 20, last[ref], "seed %d: the last verdict of %s", seed, ref)
			}
			<-changing
		})
	}
}
