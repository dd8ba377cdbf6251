package workloads

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/lists"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
)

// TestAPlanIsAsIfAllPodsWereLookedAt compares the lists that changes of Pods keep up to date with what
// a look at all Pods says, as kube-controller-manager does it.
func TestAPlanIsAsIfAllPodsWereLookedAt(t *testing.T) {
	const lives, changes = 300, 40
	covered := map[string]int{}
	for seed := range uint64(lives) {
		l := newSetLife(rand.New(rand.NewPCG(seed, 1)))
		for range changes {
			l.change()
			got, want := l.run(), l.look()
			require.Equal(t, want.setCounts, got.setCounts)
			require.Equal(t, want.next, got.next)
			require.Equal(t, want.inRevision, got.inRevision)
			require.Equal(t, want.labelled, got.labelled)
			require.Equal(t, withoutEmpty(want.plan), named(got.plan), "seed %d: %v", seed, slices.Sorted(maps.Keys(l.pods)))
			for list, some := range want.plan { // each list is tested with Pods in it
				covered[list] += len(some)
			}
		}
	}
	for _, list := range []string{"places", "condemned", "surplus", "first", "outdated"} {
		require.Greater(t, covered[list], lives, list)
	}
}

// A setLife is a StatefulSet whose Pods come, change and go at random.
type setLife struct {
	*rand.Rand
	now        time.Time
	set        *unstructured.Unstructured
	kept       *setPods
	pods       map[string]pods.Pod
	start, end int64
	partition  int64
	minReady   int64
	ordered    bool
}

func newSetLife(r *rand.Rand) *setLife {
	l := &setLife{Rand: r, now: time.Unix(1e9, 0), pods: map[string]pods.Pod{}, ordered: r.IntN(3) > 0, minReady: r.Int64N(2) * 10}
	l.start = r.Int64N(2) * 2
	replicas, partition := r.Int64N(6), r.Int64N(3)
	l.end, l.partition = l.start+replicas, l.start+partition
	l.set = control.NewObject(kinds.StatefulSet, "default", "db")
	l.set.Object["spec"] = map[string]any{
		"replicas": replicas, "minReadySeconds": l.minReady, "ordinals": map[string]any{"start": l.start},
		"podManagementPolicy": map[bool]string{true: "OrderedReady", false: "Parallel"}[l.ordered],
		"updateStrategy":      map[string]any{"rollingUpdate": map[string]any{"partition": partition}},
	}
	l.kept = newSetPods(l.set)
	return l
}

func (l *setLife) change() {
	l.now = l.now.Add(time.Duration(l.IntN(8)) * time.Second)
	name := fmt.Sprintf("db-%d", l.IntN(9))
	switch l.IntN(20) {
	case 0:
		name = "db-x"
	case 1:
		name = fmt.Sprintf("db-0%d", l.IntN(9)) // a second Pod with an ordinal
	}
	if old, exists := l.pods[name]; exists {
		l.kept.remove(old)
		delete(l.pods, name)
		if l.IntN(6) == 0 {
			return
		}
	}
	l.pods[name] = l.pod(name)
	l.kept.add(l.pods[name])
}

func (l *setLife) pod(name string) pods.Pod {
	p := control.NewObject(kinds.Pod, "default", name)
	p.SetLabels(map[string]string{revisionLabel: []string{"new", "new", "new", "old", "older"}[l.IntN(5)]})
	if l.IntN(10) == 0 {
		p.SetDeletionTimestamp(&metav1.Time{Time: l.now})
	}
	ready := map[bool]string{true: "True", false: "False"}[l.IntN(4) > 0]
	p.Object["status"] = map[string]any{
		"phase": []string{"Running", "Running", "Running", "Running", "Running", "Pending", "Failed"}[l.IntN(7)],
		"conditions": []any{map[string]any{
			"type": "Ready", "status": ready, "lastTransitionTime": l.now.UTC().Format(time.RFC3339),
		}},
	}
	return pods.Of(p)
}

func (l *setLife) run() *statefulRun {
	c := control.Call{}
	c.Now = l.now
	h := history{update: control.NewObject(kinds.ControllerRevision, "default", "new")}
	return newStatefulRun(c, l.set, h, l.kept)
}

// seen is what a look at all Pods says; Pods are named, and so are missing ones.
type seen struct {
	setCounts
	next       time.Duration
	inRevision map[string]int64
	labelled   map[string]int
	plan       map[string][]string
}

func (l *setLife) look() seen {
	s := seen{inRevision: map[string]int64{}, labelled: map[string]int{}, plan: map[string][]string{}}
	replicas := map[int64]pods.Pod{}
	var condemned []pods.Pod
	for _, name := range slices.Sorted(maps.Keys(l.pods)) {
		p := l.pods[name]
		running := p.Phase() == "Running"
		is, left := p.Available(l.minReady, l.now)
		s.next = control.Sooner(s.next, left)
		s.replicas++
		s.ready += one(running && p.IsReady())
		s.available += one(running && is)
		s.waiting += one(p.IsWaiting())
		s.labelled[p.GetLabels()[revisionLabel]]++
		if !p.IsTerminating() {
			s.inRevision[p.GetLabels()[revisionLabel]]++
		}
		switch i := ordinalOf(name); {
		case i >= l.start && i < l.end:
			replicas[i] = p
		case i >= 0:
			condemned = append(condemned, p)
		}
	}
	slices.SortFunc(condemned, func(a, b pods.Pod) int {
		return cmp.Or(cmp.Compare(ordinalOf(b.GetName()), ordinalOf(a.GetName())), cmp.Compare(b.GetName(), a.GetName()))
	})
	l.lookAt(&s, replicas, condemned)
	return s
}

func (l *setLife) lookAt(s *seen, replicas map[int64]pods.Pod, condemned []pods.Pod) {
	unavailable := func(p pods.Pod) bool {
		if p.Unstructured == nil || p.IsTerminating() {
			return true
		}
		is, _ := p.Available(l.minReady, l.now)
		return !is
	}
	// The claims are settled, so that a Pod without these states is one that nothing is done about.
	quiet := func(p pods.Pod) bool { return !unavailable(p) && !p.IsTerminal() && p.Phase() != "Pending" }
	room := 1
	if !l.ordered {
		room = control.Room(s.replicas, s.waiting)
	}
	for i := l.start; i < l.end; i++ {
		p, exists := replicas[i]
		switch {
		case exists && !(l.ordered && quiet(p)):
			s.plan["places"] = append(s.plan["places"], p.GetName())
		case !exists && room > 0:
			s.plan["places"] = append(s.plan["places"], fmt.Sprint("missing ", i))
			room--
		}
	}
	surplus, look := condemned, condemned
	if l.ordered {
		surplus = condemned[:min(1, len(condemned))]
		look = lists.Filter(condemned, func(p pods.Pod) bool { return !quiet(p) })
	}
	s.plan["condemned"], s.plan["surplus"] = podNames(look), podNames(surplus)
	if l.ordered && len(condemned) > 0 {
		s.plan["first"] = l.lookForFirst(replicas, condemned, unavailable)
	}
	for i := l.end - 1; i >= l.partition; i-- {
		p := replicas[i]
		if p.Unstructured == nil {
			break
		}
		if p.GetLabels()[revisionLabel] != "new" && !p.IsTerminating() {
			s.plan["outdated"] = []string{p.GetName()}
			break
		}
		if unavailable(p) {
			break
		}
	}
}

func (l *setLife) lookForFirst(replicas map[int64]pods.Pod, condemned []pods.Pod, unavailable func(pods.Pod) bool) []string {
	for i := l.start; i < l.end; i++ {
		switch p := replicas[i]; {
		case p.Unstructured == nil:
			return nil
		case unavailable(p):
			return []string{p.GetName()}
		}
	}
	for _, p := range slices.Backward(condemned) {
		if unavailable(p) {
			return []string{p.GetName()}
		}
	}
	return nil
}

func podNames(all []pods.Pod) (names []string) {
	for _, p := range all {
		names = append(names, p.GetName())
	}
	return names
}

// named returns the names of the Pods of a plan.
func named(p plan) map[string][]string {
	lists := map[string][]string{}
	put := func(list string, all ...*member) {
		for _, m := range all {
			switch {
			case m == nil:
			case m.isMissing():
				lists[list] = append(lists[list], fmt.Sprint("missing ", m.ordinal))
			default:
				lists[list] = append(lists[list], m.GetName())
			}
		}
	}
	put("places", p.places...)
	put("condemned", p.condemned...)
	put("surplus", p.surplus...)
	put("first", p.first)
	put("outdated", p.outdated)
	return lists
}

func withoutEmpty(lists map[string][]string) map[string][]string {
	maps.DeleteFunc(lists, func(_ string, all []string) bool { return len(all) == 0 })
	return lists
}
