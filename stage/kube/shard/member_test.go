package shard_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/kube/shard"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

func TestOptionsAreRefusedWithAllFaults(t *testing.T) {
	_, err := shard.New(memory.New(memory.Options{}), shard.Options{Group: "A b", Duration: 1500 * time.Millisecond})
	require.ErrorContains(t, err, `Identity "": required`)
	require.ErrorContains(t, err, `Group "A b"`)
	require.ErrorContains(t, err, `Duration "1.5s": must be whole seconds`)
	_, err = shard.New(memory.New(memory.Options{}), shard.Options{Identity: "web_1"})
	require.ErrorContains(t, err, `Group.Identity "stagecraft.web_1"`)
}

// play runs a test on a rig in virtual time.
func play(t *testing.T, f func(*rig)) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		f(r)
		r.end()
	})
}

func TestOneMemberOwnsAllAtOnce(t *testing.T) {
	play(t, func(r *rig) {
		p := r.start("a", "a")
		synctest.Wait()
		require.Zero(t, r.settle(time.Second))
		require.Equal(t, []string{"a"}, p.Members())
		r.pass(10 * duration)
		require.Equal(t, "[]", r.told())
	})
}

func TestWhoJoinsTakesItsShareWhenTheOthersSawIt(t *testing.T) {
	play(t, func(r *rig) {
		r.start("a", "a")
		synctest.Wait()
		b := r.start("b", "b")
		synctest.Wait()
		require.Equal(t, []string{"a"}, r.share(), "a has not seen b")
		require.Empty(t, b.Members())
		r.pass(3 * time.Second)
		require.Equal(t, []string{"a", "b"}, r.share())
		require.Zero(t, r.settle(0))
		require.Equal(t, []string{"a", "b"}, b.Members())
	})
}

func TestWhoJoinsWaitsForOneThatDoesNotAnswer(t *testing.T) {
	play(t, func(r *rig) {
		a := r.start("a", "a")
		synctest.Wait()
		a.link.set(func(l *link) { l.hangs = true })
		r.start("b", "b")
		r.pass(duration * 4 / 5)
		require.Empty(t, r.share(), "a is fenced, b has yet to wait")
		require.LessOrEqual(t, r.settle(duration), duration/5+2*time.Second)
		require.Equal(t, []string{"b"}, r.share())

		a.link.set(func(l *link) { l.hangs = false })
		r.pass(5 * time.Second)
		require.Equal(t, []string{"a", "b"}, r.share(), "a has joined anew")
	})
}

func TestWhoDiesHandsOverWithinTheLeaseTime(t *testing.T) {
	play(t, func(r *rig) {
		for i := range 3 {
			r.start(identity(i), identity(i))
		}
		r.pass(10 * time.Second)
		r.kill(identity(1))
		require.NotZero(t, func() int { _, orphans := r.owners(); return orphans }())
		took := r.settle(2 * duration)
		require.LessOrEqual(t, took, duration+time.Second)
		t.Logf("handed over after %v", took)
		require.Equal(t, []string{identity(0), identity(2)}, r.share())
	})
}

func TestWhoLeavesHandsOverAtTheNextLook(t *testing.T) {
	play(t, func(r *rig) {
		r.start("a", "a")
		r.start("b", "b")
		r.pass(5 * time.Second)
		r.stop("b")
		require.LessOrEqual(t, r.settle(duration), time.Second)
		require.Equal(t, []string{"stagecraft.a"}, r.leases())
		r.start("b again", "b")
		require.LessOrEqual(t, r.settle(duration), 2*time.Second, "who left is not waited for")
	})
}

func TestASecondProcessOfTheSameNameWaits(t *testing.T) {
	play(t, func(r *rig) {
		r.start("first", "a")
		synctest.Wait()
		r.start("second", "a")
		r.pass(4 * duration)
		require.Equal(t, []string{"first"}, r.share())
		r.kill("first")
		require.LessOrEqual(t, r.settle(2*duration), duration+time.Second)
		require.Equal(t, []string{"second"}, r.share())
	})
}

func TestALostAnswerIsNoLostLease(t *testing.T) {
	play(t, func(r *rig) {
		a := r.start("a", "a")
		r.pass(time.Second)
		a.link.set(func(l *link) { l.loses = true })
		r.pass(duration * 3 / 5)
		require.Equal(t, []string{"a"}, r.share())
		a.link.set(func(l *link) { l.loses = false })
		r.pass(duration)
		require.Zero(t, r.settle(0))
		require.Contains(t, r.told(), "connection refused")
		require.NotContains(t, r.told(), "lost its share")
	})
}

func TestALeaseThatSomebodyDeletesIsMadeAnew(t *testing.T) {
	play(t, func(r *rig) {
		r.start("a", "a")
		r.pass(time.Second)
		require.NoError(t, r.cluster.Delete(r.t.Context(), leaseKind, types.NamespacedName{Namespace: "default", Name: "stagecraft.a"}, metav1.DeleteOptions{}))
		r.pass(2 * time.Second)
		require.Zero(t, r.settle(0))
		require.Contains(t, r.told(), "somebody deleted Lease stagecraft.a")
		require.Equal(t, []string{"stagecraft.a"}, r.leases())
	})
}

func TestTheLeasesOfTheDeadAreDeletedInTheEnd(t *testing.T) {
	play(t, func(r *rig) {
		r.start("a", "a")
		r.start("b", "b")
		r.pass(5 * time.Second)
		r.kill("b")
		r.pass(20 * duration)
		require.Equal(t, []string{"stagecraft.a", "stagecraft.b"}, r.leases())
		r.pass(2 * duration)
		require.Equal(t, []string{"stagecraft.a"}, r.leases())
	})
}

func TestOtherGroupsAreLeftAlone(t *testing.T) {
	play(t, func(r *rig) {
		other, err := shard.New(r.cluster, shard.Options{Group: "others", Identity: "a"})
		require.NoError(t, err)
		ctx, cancel := contextOf(r.t)
		r.all.Go(func() { _ = other.Run(ctx, func() {}) })
		r.start("a", "a")
		r.pass(5 * time.Second)
		require.Zero(t, r.settle(0))
		require.True(t, other.Owns(r.objects[0]))
		cancel()
	})
}

func TestChangesAreTold(t *testing.T) {
	play(t, func(r *rig) {
		l := &link{Cluster: r.cluster}
		m, err := shard.New(l, shard.Options{Identity: "a"})
		require.NoError(t, err)
		var told []bool
		ctx, cancel := contextOf(r.t)
		r.all.Go(func() { _ = m.Run(ctx, func() { told = append(told, m.Owns(r.objects[0])) }) })
		time.Sleep(duration)
		l.set(func(l *link) { l.frozen = time.Now().Add(duration) }) // the share ends unnoticed
		time.Sleep(2 * duration)
		cancel()
		synctest.Wait()
		require.Equal(t, []bool{true, false, true, false}, told)
	})
}

// TestAShareEndsOnTime checks that a share lasts four fifths of the duration from the last renewal,
// no matter how requests fail, and that its end is reported then.
func TestAShareEndsOnTime(t *testing.T) {
	for name, trouble := range map[string]func(*link){
		"requests hang":    func(l *link) { l.hangs = true },
		"requests fail":    func(l *link) { l.refuses = true },
		"lists alone fail": func(l *link) { l.blind = true },
		"answers are lost": func(l *link) { l.loses = true },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(r *rig) {
				l := &link{Cluster: r.cluster}
				m, err := shard.New(l, shard.Options{Identity: "a"})
				require.NoError(t, err)
				var told time.Time
				ctx, cancel := contextOf(r.t)
				defer cancel()
				r.all.Go(func() { _ = m.Run(ctx, func() { told = time.Now() }) })
				time.Sleep(duration)
				renewed := r.renewed("a")
				for r.renewed("a").Equal(renewed) {
					time.Sleep(time.Millisecond)
				}
				l.set(trouble)
				end := r.renewed("a").Add(duration * 4 / 5)
				time.Sleep(time.Until(end.Add(-time.Millisecond)))
				require.True(t, m.Owns(r.objects[0]))
				time.Sleep(2 * time.Millisecond)
				require.False(t, m.Owns(r.objects[0]))
				synctest.Wait()
				require.WithinDuration(t, end, told, time.Microsecond) // stamps have no more
			})
		})
	}
}

// renewed is when a Lease was renewed last.
func (r *rig) renewed(identity string) time.Time {
	l, err := r.cluster.Get(r.t.Context(), leaseKind, types.NamespacedName{Namespace: "default", Name: "stagecraft." + identity})
	require.NoError(r.t, err)
	stamp, _, _ := unstructured.NestedString(l.Object, "spec", "renewTime")
	at, err := time.Parse(metav1.RFC3339Micro, stamp)
	require.NoError(r.t, err)
	return at
}

// TestAnswersThatComeTooLateAreNone checks that a member joins again when the answer to its renewal
// comes only after the share has ended: others could have taken its keys in between.
func TestAnswersThatComeTooLateAreNone(t *testing.T) {
	play(t, func(r *rig) {
		a := r.start("a", "a")
		r.pass(time.Second)
		a.link.set(func(l *link) { l.late = duration * 3 / 5 })
		r.pass(2 * duration)
		require.Contains(t, r.told(), "lost its share: could not renew")
		a.link.set((*link).heal)
		r.pass(duration * 2)
		require.Zero(t, r.settle(0))
		l, err := r.cluster.Get(r.t.Context(), leaseKind, types.NamespacedName{Namespace: "default", Name: "stagecraft.a"})
		require.NoError(t, err)
		joined, _, _ := unstructured.NestedInt64(l.Object, "spec", "leaseTransitions")
		require.Positive(t, joined)
	})
}

// TestNoObjectHasTwoOwnersWhateverHappens lets processes die, leave, freeze and lose their
// connections at random. At no time does an object have two owners. When the troubles end, each
// object has one owner.
func TestNoObjectHasTwoOwnersWhateverHappens(t *testing.T) {
	for seed := range uint64(16) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			play(t, func(r *rig) {
				random := rand.New(rand.NewPCG(seed, 0))
				for i := range 1 + random.IntN(5) {
					r.start(identity(i), identity(i))
				}
				for i := range 15 {
					r.pass(time.Duration(random.Int64N(int64(duration))))
					trouble(r, random, i)
				}
				for _, p := range r.members {
					p.link.set((*link).heal)
				}
				if len(r.members) == 0 {
					r.start("last", "last")
				}
				r.settle(6 * duration) // one may be frozen still
				r.pass(3 * duration)
				require.Zero(t, r.settle(0))
			})
		})
	}
}

// trouble does something to one process.
func trouble(r *rig, random *rand.Rand, i int) {
	names := r.names()
	if len(names) == 0 {
		r.start(fmt.Sprint("new ", i), fmt.Sprint("new-", i))
		return
	}
	name := names[random.IntN(len(names))]
	id, _, _ := strings.Cut(name, " ")
	l := r.members[name].link
	switch random.IntN(12) {
	case 0:
		r.kill(name)
	case 1:
		r.kill(name)
		r.start(fmt.Sprintf("%s %d", id, i), id)
	case 2:
		r.stop(name)
		r.start(fmt.Sprintf("%s %d", id, i), id)
	case 3:
		r.start(fmt.Sprintf("new-%d", i), fmt.Sprintf("new-%d", i))
	case 4:
		l.set(func(l *link) { l.hangs = true })
	case 5:
		l.set(func(l *link) { l.refuses = true })
	case 6:
		l.set(func(l *link) { l.loses = true })
	case 7:
		l.set(func(l *link) { l.frozen = time.Now().Add(time.Duration(random.Int64N(int64(3 * duration)))) })
	case 8:
		l.set(func(l *link) { l.blind = true })
	case 9, 10:
		l.set(func(l *link) { l.slow = time.Duration(random.Int64N(int64(duration / 6))) })
	default:
		l.set((*link).heal)
	}
}

func (r *rig) names() []string {
	var names []string
	for name := range r.members {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func BenchmarkOwns(b *testing.B) {
	cluster := memory.New(memory.Options{})
	m, err := shard.New(cluster, shard.Options{Identity: "a"})
	require.NoError(b, err)
	ctx, cancel := contextOf(b)
	defer cancel()
	joined := make(chan struct{}, 10)
	go func() { _ = m.Run(ctx, func() { joined <- struct{}{} }) }()
	<-joined
	obj := pod("v1", map[string]any{"nodeName": "n1"})
	b.ReportAllocs()
	for b.Loop() {
		if !m.Owns(obj) {
			b.Fatal("not owned")
		}
	}
}
