package histories

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/dev/faults"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// RequestTimeout is how long a player waits for an answer.
const RequestTimeout = 3 * time.Second

// Options of [Play].
type Options struct {
	Seed uint64
	// Reach is how the player reaches the cluster, and the longest time that Run may take to return. Nil:
	// by calls, within a second.
	Reach func(t *testing.T, c *memory.Cluster, d *faults.Dice) (transport.Transport, time.Duration)
	// Trace is that of the player. Nil: off.
	Trace func(stage.TraceEvent)
	// Only are the faults that may strike. Nil: the seed chooses.
	Only []string
}

// Play plays one history and returns what was wrong, with a line for each.
func Play(t *testing.T, o Options) []string {
	var wrong []string
	synctest.Test(t, func(t *testing.T) {
		h := newHistory(t, o)
		h.play()
		wrong = h.audit.wrong
	})
	return wrong
}

// A history is one life of a cluster with a player.
type history struct {
	t       *testing.T
	r       *rand.Rand
	cluster *memory.Cluster
	dice    *faults.Dice
	audit   *audit
	pods    int
	delay   int // of each Stage, in milliseconds
	users   bool
	swaps   bool
	player  *player.Player
	limit   time.Duration
}

func newHistory(t *testing.T, o Options) *history {
	r := rand.New(rand.NewPCG(o.Seed, 77))
	h := &history{t: t, r: r, cluster: memory.New(memory.Options{Seed: o.Seed}), limit: time.Second}
	kinds, rate := chosen(r, o.Only), []float64{0.05, 0.2, 0.5, 0.8}[r.IntN(4)]
	h.dice = faults.NewDice(o.Seed, kinds, rate, time.Now().Add(time.Duration(20+r.IntN(60))*time.Second))
	h.pods, h.delay = 2+r.IntN(5), []int{0, 50, 1500}[r.IntN(3)]
	h.users, h.swaps = r.IntN(2) == 0, r.IntN(3) == 0
	h.audit = newAudit(h.cluster)
	reached := faults.Transport(h.cluster, h.dice)
	if o.Reach != nil {
		reached, h.limit = o.Reach(t, h.cluster, h.dice)
	}
	h.player = player.New(h.set(0), reached, player.Options{Seed: o.Seed, Workers: 1 + r.IntN(4), Timeout: RequestTimeout, Trace: o.Trace})
	return h
}

// chosen is the faults that may strike: those of only, or all, or some.
func chosen(r *rand.Rand, only []string) (kinds []string) {
	some, n := r.IntN(3) > 0, 1+r.IntN(4)
	switch {
	case only != nil:
		return only
	case !some:
		return faults.All
	}
	for range n {
		kinds = append(kinds, faults.All[r.IntN(len(faults.All))])
	}
	return kinds
}

func (h *history) set(version int) *stage.Set {
	return compiled(version, h.delay)
}

func (h *history) play() {
	for i := range h.pods {
		h.create(i)
	}
	ctx, end := context.WithCancel(h.t.Context())
	ended := make(chan time.Time, 1)
	go func() {
		_ = h.player.Run(ctx) // its only error is that of ctx
		ended <- time.Now()
	}()
	for step := 1; time.Now().Before(h.dice.Heal()); step++ {
		time.Sleep(time.Duration(h.r.IntN(1500)) * time.Millisecond)
		if h.users {
			h.use(step)
		}
		if h.swaps && h.r.IntN(4) == 0 {
			h.player.Use(h.set(step % 3))
		}
	}
	time.Sleep(3 * time.Minute)
	for i := range h.pods { // some were deleted last
		h.create(i)
	}
	time.Sleep(time.Minute)
	synctest.Wait()
	h.audit.end(h.cluster, h.pods)
	h.quiet()
	end()
	synctest.Wait()
	asked := time.Now()
	if took := (<-ended).Sub(asked); took > h.limit {
		h.audit.note("Run returned %v after its context was done", took)
	}
	h.audit.close()
}

// quiet checks that the player has come to rest.
func (h *history) quiet() {
	if s := h.player.Stats(); s.Retrying > 0 || s.Queued > 0 {
		h.audit.note("the player is not at rest: %+v", s)
	}
	before := h.version()
	time.Sleep(5 * time.Minute)
	if after := h.version(); after != before {
		h.audit.note("the player still writes: version %s, then %s", before, after)
	}
}

func (h *history) version() string {
	l, err := h.cluster.List(context.Background(), podKind, "", metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	return l.GetResourceVersion()
}

// use is what a user does to one of the Pods.
func (h *history) use(step int) {
	i := h.r.IntN(h.pods)
	switch h.r.IntN(5) {
	case 0:
		h.patch(i, fmt.Sprintf(`{"metadata": {"labels": {"step": "%d"}}}`, step))
	case 1:
		h.delete(i)
	case 2:
		h.patch(i, `{"metadata": {"finalizers": null}}`)
		h.delete(i)
		h.create(i)
	case 3:
		h.create(i)
	}
}

func name(i int) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: fmt.Sprintf("pod%d", i)}
}

// Users ignore errors: a Pod may be gone, or there already.

func (h *history) create(i int) {
	pod := map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": name(i).Name, "namespace": name(i).Namespace, "finalizers": []any{"a/b"}},
		"spec":     map[string]any{"nodeName": "node", "containers": []any{map[string]any{"name": "c", "image": "i"}}},
	}
	_, _ = h.cluster.Create(context.Background(), &unstructured.Unstructured{Object: pod}, metav1.CreateOptions{})
}

func (h *history) patch(i int, text string) {
	_, _ = h.cluster.Patch(context.Background(), podKind, name(i), types.MergePatchType, []byte(text), metav1.PatchOptions{})
}

func (h *history) delete(i int) {
	_ = h.cluster.Delete(context.Background(), podKind, name(i), metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
}

var (
	podKind   = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	childKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	eventKind = schema.GroupVersionKind{Version: "v1", Kind: "Event"}
)
