package nodes_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube/nodes"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

const (
	duration = 40 * time.Second // of a Lease, the default
	quarter  = duration / 4
	latest   = quarter + quarter/25 // between two renewals
)

var held = nodes.Options{Lease: nodes.Lease{Identity: "us"}}

// spec is a field of a Lease's spec.
func (s *scene) spec(name, field string) any {
	s.t.Helper()
	v, _, err := unstructured.NestedFieldNoCopy(s.lease(name), "spec", field)
	require.NoError(s.t, err)
	return v
}

// foreign creates a Lease that somebody else holds.
func (s *scene) foreign(name, holder string) {
	s.t.Helper()
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"holderIdentity": holder, "leaseDurationSeconds": int64(40), "renewTime": "2020-01-01T00:00:00.000000Z",
	}}}
	obj.SetGroupVersionKind(leaseKind)
	obj.SetNamespace("kube-node-lease")
	obj.SetName(name)
	s.create(obj)
}

func TestLeases(t *testing.T) {
	play(t, func(s *scene) {
		r := s.run(held)
		n := node("n", nil, nil)
		require.False(t, r.Plays(n))
		n = s.create(n)
		require.True(t, r.Plays(n))
		require.True(t, r.Plays(pod("a", "n", false)))
		begun := time.Now().UTC().Format(metav1.RFC3339Micro)
		require.Equal(t, map[string]any{"holderIdentity": "us", "leaseDurationSeconds": int64(40), "acquireTime": begun, "renewTime": begun}, s.lease("n")["spec"])
		owners, _, _ := unstructured.NestedSlice(s.lease("n"), "metadata", "ownerReferences")
		require.Equal(t, []any{map[string]any{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": string(n.GetUID())}}, owners)

		time.Sleep(latest + time.Millisecond)
		first := s.spec("n", "renewTime")
		require.NotEqual(t, begun, first)
		require.Equal(t, begun, s.spec("n", "acquireTime"))
		time.Sleep(latest + time.Millisecond)
		require.NotEqual(t, first, s.spec("n", "renewTime"))
		require.True(t, r.Plays(n))

		s.remove(nodeKind, "", "n")
		time.Sleep(duration)
		require.False(t, r.Plays(pod("a", "n", false)))
		_, err := s.cluster.Get(s.t.Context(), leaseKind, types.NamespacedName{Namespace: "kube-node-lease", Name: "n"})
		require.True(t, apierrors.IsNotFound(err), "it went with its Node, and was not made anew")
	})
}

func TestNodesThatAreNotManagedHaveNoLease(t *testing.T) {
	play(t, func(s *scene) {
		o := held
		o.Policy.Labels = "type=fake"
		r := s.run(o)
		theirs, ours := s.create(node("theirs", nil, nil)), s.create(node("ours", texts{"type": "fake"}, nil))
		require.False(t, r.Plays(theirs))
		require.True(t, r.Plays(ours))
		_, err := s.cluster.Get(s.t.Context(), leaseKind, types.NamespacedName{Namespace: "kube-node-lease", Name: "theirs"})
		require.True(t, apierrors.IsNotFound(err))

		s.patch(nodeKind, "", "ours", `{"metadata": {"labels": null}}`)
		require.False(t, r.Plays(pod("a", "ours", false)))
		renewed := s.spec("ours", "renewTime")
		time.Sleep(duration)
		require.Equal(t, renewed, s.spec("ours", "renewTime"), "it is not renewed any more")
		s.patch(nodeKind, "", "ours", `{"metadata": {"labels": {"type": "fake"}}}`)
		require.True(t, r.Plays(pod("a", "ours", false)))
		require.NotEqual(t, renewed, s.spec("ours", "renewTime"))
	})
}

func TestALeaseOfSomebodyElse(t *testing.T) {
	play(t, func(s *scene) {
		s.foreign("n", "kwok")
		s.create(node("n", nil, nil))
		r := s.run(held)
		p := pod("a", "n", false)
		for range 10 {
			require.False(t, r.Plays(p))
			time.Sleep(duration - time.Second)
			s.patch(leaseKind, "kube-node-lease", "n", fmt.Sprintf(`{"spec": {"renewTime": %q}}`, time.Now().UTC().Format(metav1.RFC3339Micro)))
		}
		time.Sleep(duration - time.Millisecond)
		require.False(t, r.Plays(p), "it may live still")
		before := s.calls.Load()
		time.Sleep(2 * latest)
		require.True(t, r.Plays(p))
		require.Equal(t, before+1, s.calls.Load())
		require.Equal(t, "us", s.spec("n", "holderIdentity"))
		require.EqualValues(t, 1, s.spec("n", "leaseTransitions"))
	})
}

func TestLeasesThatAreFreeAreTakenAtOnce(t *testing.T) {
	for name, holder := range map[string]string{"ours from before": "us", "released": ""} {
		t.Run(name, func(t *testing.T) {
			play(t, func(s *scene) {
				s.foreign("n", holder)
				s.create(node("n", nil, nil))
				require.True(t, s.run(held).Plays(pod("a", "n", false)))
			})
		})
	}
}

func TestALeaseThatSomebodyTakes(t *testing.T) {
	play(t, func(s *scene) {
		n := s.create(node("n", nil, nil))
		r := s.run(held)
		time.Sleep(3 * quarter)
		s.patch(leaseKind, "kube-node-lease", "n", `{"spec": {"holderIdentity": "kwok"}}`)
		before := s.calls.Load()
		time.Sleep(latest)
		require.False(t, r.Plays(n))
		require.Equal(t, before+1, s.calls.Load())
		require.Equal(t, "kwok", s.spec("n", "holderIdentity"))
	})
}

func TestALeaseThatCannotBeRenewed(t *testing.T) {
	play(t, func(s *scene) {
		n := s.create(node("n", nil, nil))
		gate := &gated{Cluster: s.cluster}
		r := s.runOn(gate, held)
		gate.shut(apierrors.NewInternalError(fmt.Errorf("no leader")))
		time.Sleep(duration - time.Millisecond)
		require.True(t, r.Plays(n))
		before := s.calls.Load()
		time.Sleep(2 * time.Millisecond)
		require.False(t, r.Plays(n), "others may have it")
		time.Sleep(time.Second)
		require.Equal(t, before+1, s.calls.Load())
		gate.shut(nil)
		time.Sleep(duration / 16)
		require.True(t, r.Plays(n))
	})
}

func TestALeaseLastsFromWhenItsRenewalWasSent(t *testing.T) {
	play(t, func(s *scene) {
		n := s.create(node("n", nil, nil))
		gate := &gated{Cluster: s.cluster, slow: quarter / 2}
		r := s.runOn(gate, held)
		time.Sleep(duration)
		last, err := time.Parse(metav1.RFC3339Micro, s.spec("n", "renewTime").(string))
		require.NoError(t, err)
		gate.shut(errors.New("connection refused"))
		time.Sleep(time.Until(last.Add(duration - time.Millisecond)))
		require.True(t, r.Plays(n))
		time.Sleep(2 * time.Millisecond)
		require.False(t, r.Plays(n))
	})
}

func TestALeaseThatIsDeletedOrEditedIsKept(t *testing.T) {
	play(t, func(s *scene) {
		n := s.create(node("n", nil, nil))
		r := s.run(held)
		s.patch(leaseKind, "kube-node-lease", "n", `{"metadata": {"labels": {"seen-by": "admin"}}}`)
		time.Sleep(duration)
		require.True(t, r.Plays(n))
		labels, _, _ := unstructured.NestedStringMap(s.lease("n"), "metadata", "labels")
		require.Equal(t, texts{"seen-by": "admin"}, labels)
		s.remove(leaseKind, "kube-node-lease", "n")
		time.Sleep(duration)
		require.True(t, r.Plays(n))
		require.Equal(t, "us", s.spec("n", "holderIdentity"))
	})
}

func TestTheLeaseOfANodeThatIsMadeAnewHasANewOwner(t *testing.T) {
	play(t, func(s *scene) {
		s.create(node("n", nil, nil))
		r := s.run(held)
		for range 3 {
			s.remove(nodeKind, "", "n")
			n := s.create(node("n", nil, nil))
			time.Sleep(latest)
			require.True(t, r.Plays(n))
			owners, _, _ := unstructured.NestedSlice(s.lease("n"), "metadata", "ownerReferences")
			require.Len(t, owners, 1)
			require.Equal(t, string(n.GetUID()), owners[0].(map[string]any)["uid"])
		}
	})
}

func TestOnlyWhatTheProcessOwnsIsOurs(t *testing.T) {
	play(t, func(s *scene) {
		mine := map[string]bool{"a": true}
		o := held
		o.Owns = func(obj *unstructured.Unstructured) bool {
			name, _, _ := unstructured.NestedString(obj.Object, "spec", "nodeName")
			return mine[name] || mine[obj.GetName()]
		}
		a, b := s.create(node("a", nil, nil)), s.create(node("b", nil, nil))
		r := s.run(o)
		require.True(t, r.Plays(a))
		require.False(t, r.Plays(b))
		_, err := s.cluster.Get(s.t.Context(), leaseKind, types.NamespacedName{Namespace: "kube-node-lease", Name: "b"})
		require.True(t, apierrors.IsNotFound(err))

		mine = map[string]bool{"b": true}
		r.Refilter()
		synctest.Wait()
		require.False(t, r.Plays(a))
		require.True(t, r.Plays(b))
		require.True(t, r.Plays(pod("p", "b", false)))
		renewed := s.spec("a", "renewTime")
		time.Sleep(duration)
		require.Equal(t, renewed, s.spec("a", "renewTime"))
		s.patch(leaseKind, "kube-node-lease", "a", `{"spec": {"renewTime": "2026-01-01T00:00:00.000000Z"}}`) // by the one that owns it now
		mine = map[string]bool{"a": true, "b": true}
		r.Refilter()
		synctest.Wait()
		require.True(t, r.Plays(a), "it has the same holder")
	})
}

// TestRenewalsAreSpread checks that thousands of Nodes cost what they must and no more. A few
// goroutines renew each Lease once in a quarter of its duration, evenly in time. The Player does
// not reconsider its objects for each renewal.
func TestRenewalsAreSpread(t *testing.T) {
	const count = 10_000
	play(t, func(s *scene) {
		var requests atomic.Int64
		s.cluster = memory.New(memory.Options{Trace: func(r memory.Request) {
			if r.Kind == leaseKind {
				requests.Add(1)
			}
		}})
		for i := range count {
			_, err := s.cluster.Create(s.t.Context(), node(fmt.Sprint("n", i), nil, nil), metav1.CreateOptions{})
			require.NoError(t, err)
		}
		before := runtime.NumGoroutine()
		r := s.run(held)
		require.LessOrEqual(t, runtime.NumGoroutine()-before, 16+8)
		require.EqualValues(t, count, requests.Load())
		require.True(t, r.Plays(node("n9999", nil, nil)))
		time.Sleep(duration / 2)
		require.Less(t, s.calls.Load(), int64(10))
		for range 10 {
			requests.Store(0)
			time.Sleep(time.Second)
			synctest.Wait()
			require.InEpsilon(t, count/10, requests.Load(), 0.2)
		}
	})
}

// TestHeartbeatsWithLeases plays the Stages that are made for Leases: the status of a Node is
// written when its Lease is held, and every ten minutes.
func TestHeartbeatsWithLeases(t *testing.T) {
	play(t, func(s *scene) {
		var status atomic.Int64 // writes
		s.cluster = memory.New(memory.Options{Trace: func(r memory.Request) {
			if r.Kind == nodeKind && r.Subresource == "status" && r.Err == nil {
				status.Add(1)
			}
		}})
		s.foreign("n", "kwok")
		s.create(node("n", nil, nil))
		r, err := nodes.New(s.cluster, held)
		require.NoError(t, err)
		set := stage.MustCompile(presets.NodeFast(), presets.NodeHeartbeatWithLease())
		player := player.New(set, s.cluster, player.Options{Seed: 1, Filter: r.Plays, Select: r.Rules().Select()})
		s.also(r.Run, player.Refilter)
		s.also(func(ctx context.Context, _ func()) error { return player.Run(ctx) }, nil)
		time.Sleep(duration - time.Second)
		require.Zero(t, status.Load(), "somebody else has the Lease")
		time.Sleep(2 * latest)
		require.EqualValues(t, 1, status.Load())
		time.Sleep(600*time.Second - 2*latest)
		require.EqualValues(t, 1, status.Load())
		time.Sleep(20*time.Second + 2*latest)
		require.EqualValues(t, 2, status.Load())
	})
}
