package wait_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/wait"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

var randomLives = flag.Int("lives", 30, "how many random lives TestSameVerdicts plays")

// FuzzSameVerdicts plays a random life of a Deployment, its ReplicaSets and Pods. Once nothing
// happens any more, watching and polling must have come to what Inspect says of what is there.
func FuzzSameVerdicts(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Add([]byte{0, 1, 1, 12, 3, 9, 2, 15, 5, 0, 1, 8, 4, 6})
	f.Add([]byte{0, 2, 4, 14, 24, 34, 7, 11, 1, 0, 5, 250, 30, 9, 9, 1})
	f.Add([]byte{1, 11, 3, 4, 5, 2, 12, 22, 6, 16, 0, 1, 2, 4, 14})
	f.Fuzz(func(t *testing.T, acts []byte) {
		acts = acts[:min(len(acts), 40)]
		for _, rules := range []*kstatus.Rules{kstatus.Standard(), kstatus.Extended()} {
			synctest.Test(t, func(t *testing.T) { sameVerdicts(t, acts, rules) })
		}
	})
}

func TestSameVerdicts(t *testing.T) {
	for seed := range uint64(*randomLives) {
		dice := rand.New(rand.NewPCG(seed, 0))
		acts := make([]byte, 10+dice.IntN(60))
		for i := range acts {
			acts[i] = byte(dice.Uint32())
		}
		rules := []*kstatus.Rules{kstatus.Standard(), kstatus.Extended()}[seed%2]
		t.Run(fmt.Sprint("life ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { sameVerdicts(t, acts, rules) })
		})
	}
}

func sameVerdicts(t *testing.T, acts []byte, rules *kstatus.Rules) {
	w := world{t, memory.New(memory.Options{})}
	server := &faulty{Cluster: w.Cluster, cut: 3 * time.Second, expire: true}
	refs := []wait.Ref{deployment, oldSet, newSet, rs}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	watched, polled := make(chan *wait.Collector), make(chan *wait.Collector)
	for out, server := range map[chan *wait.Collector]transport.Lister{watched: server, polled: lister(w.Cluster, true)} {
		go func() { out <- collect(t, ctx, server, refs, rules) }()
	}
	for _, act := range acts {
		time.Sleep(time.Duration(act%7) * time.Second)
		w.random(int(act))
	}
	a, b := <-watched, <-polled
	require.Equal(t, verdicts(a), verdicts(b))
	for state := range a.States() {
		obj, err := w.Get(t.Context(), state.Ref.Kind, name(state.Ref))
		if apierrors.IsNotFound(err) {
			require.Equal(t, kstatus.NotFound, state.Result.Status)
			continue
		}
		want, _, err := rules.Inspect(t.Context(), w.Cluster, obj, time.Now())
		require.NoError(t, err)
		require.Equal(t, want.String(), state.Result.String(), state.Ref)
	}
}

func collect(t *testing.T, ctx context.Context, server transport.Lister, refs []wait.Ref, rules *kstatus.Rules) *wait.Collector {
	c := collector(t, refs, wait.Policy{})
	for state := range follow(t, ctx, server, refs, wait.Options{Rules: rules}) {
		c.Add(state)
	}
	return c
}

func verdicts(c *wait.Collector) (all []string) {
	for s := range c.States() {
		if s.Result.Status == kstatus.NotFound {
			s.UID = "" // what came and went between two polls, only a watch has seen
		}
		all = append(all, fmt.Sprint(s.Ref, s.Result, s.UID, s.Err))
	}
	return all
}

// random does one of many things, if it can be done now.
func (w world) random(n int) {
	pods := []wait.Ref{pod("p0"), pod("p1"), pod("p2")}
	sets := []wait.Ref{oldSet, newSet, rs}
	p, set := pods[n/10%3], sets[n/30%3]
	switch n % 12 {
	case 0:
		w.try(create(deployment, fmt.Sprintf("  annotations: {deployment.kubernetes.io/revision: '%d'}\n%s", n/10%3, selects)))
	case 1:
		w.tryOwn(set, deployment, n/10%3, selects)
	case 2, 3:
		w.tryOwn(p, set, 0, "status: "+podCrashes)
	case 4:
		w.tryOwn(p, set, 0, "status: "+unschedulable)
	case 5:
		w.tryStatus(p, podReady)
	case 6:
		w.tryStatus(p, podCrashes)
	case 7:
		w.tryStatus(set, setReady)
	case 8:
		w.tryRemove(p)
	case 9:
		w.tryRemove([]wait.Ref{set, deployment, set}[n/10%3])
	case 10:
		w.tryAdopt(p)
	case 11:
		w.tryAdopt(p, set)
	}
}

func (w world) has(ref wait.Ref) bool {
	_, err := w.Get(w.t.Context(), ref.Kind, name(ref))
	return err == nil
}

func (w world) try(act func(world)) {
	if !w.has(deployment) {
		act(w)
	}
}

func (w world) tryOwn(child, owner wait.Ref, revision int, rest string) {
	if !w.has(child) && w.has(owner) {
		own(child, owner, revision, rest)(w)
	} else if !w.has(child) {
		w.create(manifest(child, "  labels: {app: web}\n"+rest))
	}
}

func (w world) tryAdopt(child wait.Ref, owners ...wait.Ref) {
	if w.has(child) && !slices.ContainsFunc(owners, func(owner wait.Ref) bool { return !w.has(owner) }) {
		adopt(child, owners...)(w)
	}
}

func (w world) tryStatus(ref wait.Ref, to string) {
	if w.has(ref) {
		w.status(ref, to)
	}
}

func (w world) tryRemove(ref wait.Ref) {
	if w.has(ref) {
		zero := int64(0)
		require.NoError(w.t, w.Delete(w.t.Context(), ref.Kind, name(ref), metav1.DeleteOptions{GracePeriodSeconds: &zero}))
	}
}
