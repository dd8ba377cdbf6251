package wait_test

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
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/wait"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// unreliable is a cluster in which every so many lists fail, and watches are cut and too old.
type unreliable struct {
	faulty
	every int32 // 0: no list fails
	lists atomic.Int32
}

var internal = apierrors.NewInternalError(errors.New("etcdserver: leader changed"))

func (u *unreliable) List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	if n := u.lists.Add(1); u.every > 0 && n%u.every == 0 {
		return nil, internal
	}
	return u.faulty.List(ctx, kind, namespace, o)
}

// twoHundred waits two minutes for 200 Jobs: 180 end well, five fail, fifteen run on.
func twoHundred(t *testing.T, every int32, poll bool) (err error, events int) {
	var refs []wait.Ref
	w := world{t, memory.New(memory.Options{})}
	for i := range 200 {
		refs = append(refs, ref("batch/v1", "Job", fmt.Sprintf("job-%03d", i)))
		w.create(manifest(refs[i], "status: {active: 1, startTime: '2026-01-01T00:00:00Z'}"))
	}
	go func() {
		for i, ref := range refs[:185] {
			time.Sleep(400 * time.Millisecond)
			if i%37 == 0 {
				w.status(ref, jobFailed)
			} else {
				w.status(ref, jobComplete)
			}
		}
	}()
	transport := &unreliable{faulty: faulty{Cluster: w.Cluster, cut: 2 * time.Second, expire: true}, every: every}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	policy := wait.Policy{Observe: func(*wait.Collector, wait.State) { events++ }}
	err = wait.For(ctx, lister(transport, poll), refs, policy)
	require.Greater(t, transport.lists.Load(), int32(20))
	return err, events
}

// A list that fails takes away no verdict, and is no event of 200 objects.
func TestFailingListsKeepTheVerdicts(t *testing.T) {
	for _, c := range []struct {
		name  string
		every int32
		poll  bool
	}{
		{"watched, every fifth list fails", 5, false},
		{"polled, every seventh list fails", 7, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err, events := twoHundred(t, c.every, c.poll)
				require.ErrorIs(t, err, wait.ErrFailed)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				var open *wait.Error
				require.ErrorAs(t, err, &open)
				count := map[kstatus.Status]int{}
				for _, s := range open.Open {
					count[s.Result.Status]++
					require.Greater(t, open.Time.Sub(s.Since), 40*time.Second, "since when is known: %s", s)
				}
				require.Equal(t, map[kstatus.Status]int{kstatus.Failed: 5, kstatus.InProgress: 15}, count)
				require.Equal(t, 200+185, events, "one for each verdict")
			})
		})
	}
}

// outage is a cluster that cannot be listed from one time to another.
type outage struct {
	*memory.Cluster
	from, until time.Time
	err         error
}

func (o *outage) List(ctx context.Context, kind schema.GroupVersionKind, namespace string, lo metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	if now := time.Now(); now.After(o.from) && now.Before(o.until) {
		return nil, o.err
	}
	return o.Cluster.List(ctx, kind, namespace, lo)
}

func (o *outage) Watch(ctx context.Context, kind schema.GroupVersionKind, namespace string, lo metav1.ListOptions) (watch.Interface, error) {
	if now := time.Now(); now.After(o.from) && now.Before(o.until) {
		return nil, o.err
	}
	seconds := int64(2)
	lo.TimeoutSeconds = &seconds
	return o.Cluster.Watch(ctx, kind, namespace, lo)
}

// TestOutages: for half a minute the last verdict holds, with the error next to it. That something is
// forbidden is known at once.
func TestOutages(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", nil)
	for _, c := range []struct {
		name   string
		lasts  time.Duration
		err    error
		events string
	}{
		{"short", 20 * time.Second, internal, "InProgress Current"},
		{"long", 80 * time.Second, internal, "InProgress Unknown InProgress Current"},
		{"forbidden", 20 * time.Second, forbidden, "InProgress Unknown InProgress Current"},
	} {
		for _, poll := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, ", polled ", poll), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := world{t, memory.New(memory.Options{})}
					w.create(manifest(web, "status: "+podUnready))
					began := time.Now()
					time.AfterFunc(3*time.Minute, func() { w.status(web, podReady) })
					transport := &outage{w.Cluster, began.Add(10 * time.Second), began.Add(10*time.Second + c.lasts), c.err}
					var events []string
					policy := wait.Policy{Observe: func(_ *wait.Collector, s wait.State) {
						events = append(events, string(s.Result.Status))
						if s.Result.Status == kstatus.Unknown && c.err == internal {
							require.GreaterOrEqual(t, time.Since(began), 40*time.Second)
						}
					}}
					require.NoError(t, wait.For(t.Context(), lister(transport, poll), []wait.Ref{web}, policy))
					require.Equal(t, c.events, strings.Join(events, " "))
				})
			})
		}
	}
}

// The error of a list that fails is in the state while it fails, and no longer.
func TestTheErrorStandsBesideTheVerdict(t *testing.T) {
	for lasts, want := range map[time.Duration]string{
		time.Hour:        "Pod default/web: InProgress for 25s, PodRunningNotReady: Pod is running but is not Ready (Internal error occurred: etcdserver: leader changed)",
		10 * time.Second: "Pod default/web: InProgress for 25s, PodRunningNotReady: Pod is running but is not Ready",
	} {
		synctest.Test(t, func(t *testing.T) {
			w := world{t, memory.New(memory.Options{})}
			w.create(manifest(web, "status: "+podUnready))
			began := time.Now()
			transport := &outage{w.Cluster, began.Add(5 * time.Second), began.Add(5*time.Second + lasts), internal}
			ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
			defer cancel()
			err := wait.For(ctx, transport, []wait.Ref{web}, wait.Policy{})
			require.EqualError(t, err, "1 of 1 objects are not done: context deadline exceeded\n  "+want)
		})
	}
}

// A context that was cancelled for a reason was cancelled.
func TestACancelledContextIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reason := errors.New("the pipeline was stopped")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(reason) })
		err := wait.For(ctx, memory.New(memory.Options{}), []wait.Ref{web}, wait.Policy{})
		require.ErrorIs(t, err, reason)
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "1 of 1 objects are not done: the pipeline was stopped\n")
	})
}

// late is a cluster that lists some kinds only after a time.
type late struct {
	*memory.Cluster
	kinds map[string]time.Duration
}

func (s *late) List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	select {
	case <-time.After(s.kinds[kind.Kind]):
		return s.Cluster.List(ctx, kind, namespace, o)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// failingFast waits fast-failing for five ConfigMaps, a Pod that is not ready and a Job that has
// failed, which is the last reference. It returns the error and how long the wait took.
func failingFast(t *testing.T, slowKinds map[string]time.Duration, poll bool) (error, time.Duration) {
	w := world{t, memory.New(memory.Options{})}
	var refs []wait.Ref
	for i := range 5 {
		refs = append(refs, ref("v1", "ConfigMap", fmt.Sprint("config-", i)))
		w.create(manifest(refs[i], ""))
	}
	w.create(manifest(web, "status: "+podUnready), manifest(job, "status: "+jobFailed))
	began := time.Now()
	err := wait.For(t.Context(), lister(&late{w.Cluster, slowKinds}, poll), append(refs, web, job), wait.Policy{FailFast: true})
	return err, time.Since(began)
}

// A wait that fails fast looks at each object once before it ends, so that its error counts what is
// done; the object that failed is the first in it.
func TestFailingFastLooksAtEverythingOnce(t *testing.T) {
	for _, poll := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			err, took := failingFast(t, map[string]time.Duration{"Pod": time.Second, "ConfigMap": 3 * time.Second}, poll)
			require.ErrorIs(t, err, wait.ErrFailed)
			require.EqualError(t, err, "1 object failed; 2 of 7 objects are not done: objects failed\n"+
				"  Job.batch default/job: Failed for 3s, BackoffLimitExceeded: too many\n"+
				"  Pod default/web: InProgress for 2s, PodRunningNotReady: Pod is running but is not Ready")
			require.Equal(t, 3*time.Second, took)
			var open *wait.Error
			require.ErrorAs(t, err, &open)
			require.Equal(t, job, open.Open[0].Ref)
		})
	}
}

// An object that cannot be looked at does not keep a wait that has failed for longer than half a
// minute: the list without an answer fails then, and the error says so of each object.
func TestFailingFastDoesNotWaitForEverForALook(t *testing.T) {
	for _, poll := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			err, took := failingFast(t, map[string]time.Duration{"Job": 10 * time.Second, "ConfigMap": 1000 * time.Hour}, poll)
			var text strings.Builder
			text.WriteString("1 object failed; 7 of 7 objects are not done: objects failed\n  Job.batch default/job: Failed for 20s, BackoffLimitExceeded: too many\n")
			for i := range 5 {
				fmt.Fprintf(&text, "  ConfigMap default/config-%d: Unknown, LookUpFailed: context deadline exceeded\n", i)
			}
			text.WriteString("  Pod default/web: InProgress for 30s, PodRunningNotReady: Pod is running but is not Ready")
			require.EqualError(t, err, text.String())
			require.Equal(t, 30*time.Second, took)
		})
	}
}
