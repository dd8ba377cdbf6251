package wait_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/wait"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

func TestEventsEndWithTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world{t, memory.New(memory.Options{})}
		w.create(manifest(web, "status: "+podUnready))
		events, err := wait.Events(t.Context(), w.Cluster, []wait.Ref{web, config}, wait.Options{})
		require.NoError(t, err)
		for range 2 { // an iterator can be used again
			for state := range events {
				require.Equal(t, state.Time, state.Since)
				break
			}
			synctest.Wait() // nothing is left running, or the bubble would say so
		}
	})
}

func TestEventsEndWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		events := 0
		for range follow(t, ctx, memory.New(memory.Options{}), []wait.Ref{web}, wait.Options{}) {
			events++
		}
		require.Equal(t, 1, events)
		require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
	})
}

func TestEqualStatesAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world{t, memory.New(memory.Options{})}
		w.create(manifest(web, "status: "+podUnready))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() {
			for range 10 {
				time.Sleep(time.Second)
				w.status(web, "{phase: Running, observed: '"+time.Now().String()+"'}")
			}
			w.status(web, podReady)
		}()
		collector := collector(t, []wait.Ref{web}, wait.Policy{})
		events := 0
		for state := range follow(t, ctx, w.Cluster, []wait.Ref{web}, wait.Options{}) {
			events++
			if collector.Add(state); collector.Done() {
				break
			}
		}
		require.Equal(t, 2, events)
	})
}

func TestTheCauseOfTheContextIsTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		boss := errors.New("the boss said so")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(boss) })
		err := wait.For(ctx, memory.New(memory.Options{}), []wait.Ref{web}, wait.Policy{})
		require.ErrorIs(t, err, boss)
		require.EqualError(t, err, "1 of 1 objects are not done: the boss said so\n  Pod default/web: NotFound for 1s: Resource not found")
	})
}

func TestObjectsAreNotSeenAtFirst(t *testing.T) {
	c := collector(t, []wait.Ref{web, config, web}, wait.Policy{})
	require.Equal(t, wait.Progress{Total: 2, Open: map[kstatus.Status]int{wait.NotSeen: 2}}, c.Progress())
	require.False(t, c.Done())
	c.Add(wait.State{Ref: secret})
	c.Add(wait.State{Ref: web, Result: kstatus.Current.Because("", "")})
	require.Equal(t, wait.Progress{Total: 2, Reached: 1, Open: map[kstatus.Status]int{wait.NotSeen: 1}}, c.Progress())
	for s := range c.Open() {
		require.Equal(t, config, s.Ref)
		require.Equal(t, wait.NotSeen, s.Result.Status)
	}
	for s := range c.States() {
		require.Equal(t, web, s.Ref)
		break
	}
}

// What time alone changes, changes in the order of the names, if it is at the same time.
func TestRechecksInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world{t, memory.New(memory.Options{})}
		var refs []wait.Ref
		for i := range 10 {
			refs = append(refs, pod(fmt.Sprint("pod-", i)))
			w.create(manifest(refs[i], "status: "+unschedulable))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var failed []wait.Ref
		for state := range follow(t, ctx, w.Cluster, refs, wait.Options{Rules: kstatus.Standard()}) {
			if state.Result.Status == kstatus.Failed {
				failed = append(failed, state.Ref)
			}
		}
		require.Equal(t, refs, failed)
	})
}

// Two children that fail in the same moment are one change of their parent.
func TestChangesAtOnceAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world{t, memory.New(memory.Options{})}
		w.create(manifest(rs, selects))
		own(pod("a"), rs, 0, "status: "+unschedulable)(w)
		own(pod("b"), rs, 0, "status: "+unschedulable)(w)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var last []string
		for state := range follow(t, ctx, w.Cluster, []wait.Ref{rs}, wait.Options{Rules: kstatus.Standard()}) {
			last = append(last, state.Result.Message())
		}
		require.Equal(t, []string{"Labelled: 0/1", "2 pods have failed"}, last)
	})
}

// slow is a cluster that lists one object a page, and takes its time to turn a page.
type slow struct{ *memory.Cluster }

func (s slow) List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	if o.Limit = 1; o.Continue != "" {
		time.Sleep(20 * time.Second)
	}
	return s.Cluster.List(ctx, kind, namespace, o)
}

// What is looked at again between two pages is still part of the list.
func TestRechecksBetweenPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world{t, memory.New(memory.Options{})}
		refs := []wait.Ref{rs}
		w.create(manifest(rs, selects))
		for i := range 6 {
			refs = append(refs, pod(fmt.Sprint("pod-", i)))
			own(refs[i+1], rs, 0, "status: "+unschedulable)(w)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Second)
		defer cancel()
		c := collector(t, refs, wait.Policy{})
		for state := range follow(t, ctx, slow{w.Cluster}, refs, wait.Options{Rules: kstatus.Standard()}) {
			require.NotEqual(t, kstatus.NotFound, state.Result.Status)
			c.Add(state)
		}
		require.Equal(t, map[kstatus.Status]int{kstatus.Failed: 7}, c.Progress().Open)
		for state := range c.States() {
			require.Equal(t, "6 pods have failed", state.Result.Message())
			break
		}
	})
}
