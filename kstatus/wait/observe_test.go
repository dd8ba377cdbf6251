package wait_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/kstatus/wait"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// overridden is a cluster that counts its calls and can return other answers.
type overridden struct {
	*memory.Cluster
	list           func(calls int, o metav1.ListOptions) (*unstructured.UnstructuredList, error)
	watch          func(calls int, real watch.Interface) (watch.Interface, error)
	lists, watches int
}

func (o *overridden) List(ctx context.Context, kind schema.GroupVersionKind, namespace string, lo metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	if o.lists++; o.list != nil {
		if page, err := o.list(o.lists, lo); page != nil || err != nil {
			return page, err
		}
	}
	return o.Cluster.List(ctx, kind, namespace, lo)
}

func (o *overridden) Watch(ctx context.Context, kind schema.GroupVersionKind, namespace string, lo metav1.ListOptions) (watch.Interface, error) {
	real, err := o.Cluster.Watch(ctx, kind, namespace, lo)
	if o.watches++; o.watch == nil || err != nil {
		return real, err
	}
	return o.watch(o.watches, real)
}

// nothingAtAll answers without a result and without an error.
type nothingAtAll struct{}

func (nothingAtAll) List(context.Context, schema.GroupVersionKind, string, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	return nil, nil
}

// noWatch answers lists, and watches without a result.
type noWatch struct{ *memory.Cluster }

func (noWatch) Watch(context.Context, schema.GroupVersionKind, string, metav1.ListOptions) (watch.Interface, error) {
	return nil, nil
}

func page(token string) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{Object: map[string]any{}}
	list.SetContinue(token)
	return list
}

// inTenMinutes waits for web, which is not ready, for ten minutes of virtual time, and returns the
// error.
func inTenMinutes(t *testing.T, transport transport.Lister) error {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	err := wait.For(ctx, transport, []wait.Ref{web}, wait.Policy{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	return err
}

// patient is how many tries fit into ten minutes, with pauses of 1, 2, 4, 8 and then 16 seconds
// that are a tenth shorter at worst.
const patient = 46

func TestListsWithoutEnd(t *testing.T) {
	for _, c := range []struct {
		name  string
		list  func(int, metav1.ListOptions) (*unstructured.UnstructuredList, error)
		pages int // of a list
	}{
		{"the same page again and again", func(int, metav1.ListOptions) (*unstructured.UnstructuredList, error) { return page("again"), nil }, 2},
		{"always one more", func(n int, _ metav1.ListOptions) (*unstructured.UnstructuredList, error) {
			return page(fmt.Sprint(n)), nil
		}, 10_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				transport := &overridden{Cluster: memory.New(memory.Options{}), list: c.list}
				err := inTenMinutes(t, transport)
				require.ErrorContains(t, err, "Pod default/web: Unknown for 10m0s, LookUpFailed: the list has page after page, without end")
				require.LessOrEqual(t, transport.lists, patient*c.pages)
				require.Greater(t, transport.lists, 10*c.pages)
				require.Zero(t, transport.watches)
			})
		})
	}
}

// What cannot be paged is listed as a whole.
func TestListsWithoutEndWhenPaged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world{t, memory.New(memory.Options{})}
		w.create(manifest(web, "status: "+podReady))
		transport := &overridden{Cluster: w.Cluster, list: func(_ int, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
			if o.Limit > 0 {
				return page("again"), nil
			}
			return nil, nil
		}}
		require.NoError(t, wait.For(t.Context(), transport, []wait.Ref{web}, wait.Policy{}))
		require.Equal(t, 3, transport.lists)
	})
}

// A list that is expired even as a whole fails like any other.
func TestListsThatAlwaysExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := &overridden{Cluster: memory.New(memory.Options{}), list: func(int, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
			return nil, apierrors.NewResourceExpired("too old")
		}}
		require.ErrorContains(t, inTenMinutes(t, transport), "Pod default/web: Unknown for 9m59s, LookUpFailed: too old")
		require.LessOrEqual(t, transport.lists, patient)
	})
}

func TestNoResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.EqualError(t, inTenMinutes(t, nothingAtAll{}), "1 of 1 objects are not done: context deadline exceeded\n"+
			"  Pod default/web: Unknown for 10m0s, LookUpFailed: the transport returned neither a result nor an error")
	})
}

// Without watches, lists tell what happens, with longer and longer pauses.
func TestNoWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world{t, memory.New(memory.Options{})}
		time.AfterFunc(time.Minute, func() { w.create(manifest(web, "status: "+podReady)) })
		began := time.Now()
		require.NoError(t, wait.For(t.Context(), noWatch{w.Cluster}, []wait.Ref{web}, wait.Policy{}))
		require.Less(t, time.Since(began), time.Minute+20*time.Second)
	})
}

// Watches that end at once, each time, neither spin nor hide what happens.
func TestWatchesThatAreCut(t *testing.T) {
	bookmark := watch.Event{Type: watch.Bookmark, Object: &unstructured.Unstructured{Object: map[string]any{}}}
	broken := apierrors.NewInternalError(fmt.Errorf("broken"))
	for _, c := range []struct {
		name  string
		cut   func(changes chan watch.Event)
		err   error
		tries int // at most, in ten minutes
	}{
		{"at once", func(chan watch.Event) {}, nil, patient},
		{"with an error", func(changes chan watch.Event) {
			changes <- watch.Event{Type: watch.Error, Object: &broken.ErrStatus}
		}, nil, patient},
		{"before they begin", nil, broken, patient},
		{"after a bookmark", func(changes chan watch.Event) { changes <- bookmark }, nil, 670},
		{"with what is no object", func(changes chan watch.Event) {
			changes <- watch.Event{Type: watch.Added, Object: (*unstructured.Unstructured)(nil)}
			changes <- watch.Event{Type: watch.Modified}
		}, nil, patient},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := world{t, memory.New(memory.Options{})}
				transport := &overridden{Cluster: w.Cluster, watch: func(_ int, real watch.Interface) (watch.Interface, error) {
					real.Stop()
					if c.err != nil {
						return nil, c.err
					}
					changes := make(chan watch.Event, 2)
					c.cut(changes)
					close(changes)
					return watch.NewProxyWatcher(changes), nil
				}}
				time.AfterFunc(5*time.Minute, func() { w.create(manifest(web, "status: "+podUnready)) })
				require.Regexp(t, `Pod default/web: InProgress for (4m[45]\ds|5m0s), PodRunningNotReady`, inTenMinutes(t, transport).Error())
				require.LessOrEqual(t, transport.watches, c.tries)
				require.Greater(t, transport.watches, 30)
			})
		})
	}
}

// hanging is a cluster that answers when ctx ends: too late to count.
type hanging struct{}

func (hanging) List(ctx context.Context, _ schema.GroupVersionKind, _ string, _ metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestTheEndIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		err := wait.For(ctx, hanging{}, []wait.Ref{web, config}, wait.Policy{})
		require.EqualError(t, err, "2 of 2 objects were not looked at: context deadline exceeded")
		var open *wait.Error
		require.ErrorAs(t, err, &open)
		require.Equal(t, "Pod default/web: NotSeen: Not looked for yet", open.Open[0].String())
		require.Equal(t, config, open.Open[1].Ref)
	})
}

// A list without an answer fails after half a minute, so that the wait says why it knows nothing, and
// asks again.
func TestAListWithoutAnAnswerFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := wait.For(ctx, hanging{}, []wait.Ref{web}, wait.Policy{})
		require.ErrorContains(t, err, "Pod default/web: Unknown for 30s, LookUpFailed: context deadline exceeded")
	})
}

// A caller that cancels when everything is done gets no error.
func TestCancelAtTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var refs []wait.Ref
	for i := range 10 { // all in one list
		refs = append(refs, pod(fmt.Sprint("pod-", i)))
	}
	policy := wait.Policy{Goal: wait.Goal{AbsentOK: true}, Observe: func(c *wait.Collector, _ wait.State) {
		require.True(t, c.Done())
		cancel()
	}}
	require.NoError(t, wait.For(ctx, memory.New(memory.Options{}), refs, policy))
}

func TestCancelBeforeTheStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, wait.For(ctx, untouched{t}, []wait.Ref{web}, wait.Policy{}), context.Canceled)
	for range follow(t, ctx, untouched{t}, []wait.Ref{web}, wait.Options{}) {
		t.Error("an event")
	}
	require.NoError(t, wait.For(ctx, untouched{t}, nil, wait.Policy{}))
	require.NoError(t, t.Context().Err())
}
