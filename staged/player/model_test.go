package player_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

var (
	histories = flag.Uint64("histories", uint64(effort.Of(100)), "how many random histories TestHistories plays for each transport")
	firstSeed = flag.Uint64("history", 0, "the seed of the first history")
	only      = flag.String("over", "", "the transport: K0, K1, OCM or Argo CD; all if it is empty")
	together  = flag.Bool("together", false, "let each chain happen in one step, as in a model that sees less")
	rules     = flag.String("rules", "", "the invariants that are judged, with commas; all if it is empty")
	shrinking = flag.Bool("shrink", true, "make a history that breaks an invariant shorter")
	having    = flag.String("having", "", "play only histories that have an action of this kind, such as restore")
	scripts   = flag.Bool("script", false, "print the script of the first history")
)

func nameOf(name string) types.NamespacedName { return types.NamespacedName{Name: name} }

// TestHistories plays random histories of each transport against the invariants of the specification. A
// history that breaks one is made shorter as long as the same one breaks, and printed.
func TestHistories(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // little lives long
	for _, kind := range []fleetKind{overHub, overSpace, overOCM, overArgo} {
		if *only != "" && *only != string(kind) {
			continue
		}
		t.Run(string(kind), func(t *testing.T) {
			counts, begin, played := map[string]int{}, time.Now(), 0
			n := *histories
			for seed := *firstSeed; seed < *firstSeed+n; seed++ {
				if *having != "" && !slices.ContainsFunc(actionsOf(seed), func(a action) bool { return a.kind == *having }) {
					continue
				}
				played++
				h, actions := playSeed(kind, seed, *together)
				for name, n := range h.counts {
					counts[name] += n
				}
				if *scripts {
					h = replay(kind, seed, actions, true, *together)
					t.Log(strings.Join(h.log, "\n"))
				}
				if h.fault != "" {
					t.Errorf("seed %d: %s\n%s", seed, h.fault, explainFault(kind, seed, actions, h.fault))
					if os.Getenv("GO_ON") == "" {
						return
					}
				}
			}
			t.Logf("%d histories from seed %d in %v: %v", played, *firstSeed, time.Since(begin).Round(time.Millisecond), counts)
		})
	}
}

// playSeed plays the history of a seed.
func playSeed(kind fleetKind, seed uint64, together bool) (*history, []action) {
	actions := actionsOf(seed)
	return replay(kind, seed, actions, false, together), actions
}

func actionsOf(seed uint64) []action { return randomActions(rand.New(rand.NewPCG(seed, 17))) }

func replay(kind fleetKind, seed uint64, actions []action, verbose, together bool) *history {
	h := newHistory(kind, rand.New(rand.NewPCG(seed, 5)))
	h.verbose, h.together = verbose, together
	h.note("%s", h.designs[0].yaml())
	if seed%2 == 1 { // a rollout has ended before
		h.settle()
	}
	h.use(action{kind: "backup"})
	for _, a := range actions {
		if h.do(a); h.fault != "" {
			return h
		}
	}
	h.end()
	return h
}

// invariantOf is the invariant that a fault breaks.
func invariantOf(fault string) string {
	name, _, _ := strings.Cut(fault, ":")
	return name
}

// explainFault leaves out actions as long as the same invariant breaks, and returns the script.
func explainFault(kind fleetKind, seed uint64, actions []action, fault string) string {
	if !*shrinking {
		return ""
	}
	for size := len(actions) / 2; size > 0; {
		shorter := false
		for i := 0; i+size <= len(actions); {
			without := slices.Delete(slices.Clone(actions), i, i+size)
			if invariantOf(replay(kind, seed, without, false, *together).fault) == invariantOf(fault) {
				actions, shorter = without, true
			} else {
				i += size
			}
		}
		if !shorter {
			size /= 2
		}
	}
	h := replay(kind, seed, actions, true, *together)
	return fmt.Sprintf("%s\n%d actions:\n%s", h.fault, len(actions), strings.Join(h.log, "\n"))
}

// end is L1: when everything is well and no user edits, the rollout succeeds with the newest revision.
func (h *history) end() {
	h.health, h.others = map[string]health{}, false
	if p := h.hub.get(bindingPolicyKind, "", "other"); p != nil && p.GetDeletionTimestamp() == nil {
		h.hub.terminate(p)
	}
	for _, m := range h.members {
		m.offline = false
	}
	h.note("-- the end")
	h.settle()
	h.checkEnd()
}

// settle lets a rollout come to its end: somebody approves and retries, and all reports come, at first in
// any order.
func (h *history) settle() {
	a, over, r := h.actors[0], 0, rand.New(rand.NewPCG(uint64(h.steps), 3))
	for turn := range 200 {
		h.steps++
		s := h.status()
		if turn%3 == 0 {
			h.approve(action{kind: "approve"})
		}
		if turn%50 == 1 {
			for _, rec := range s.Stages {
				h.retry(rec.Name, s.Wanted, false)
			}
		}
		for _, m := range h.members {
			m.beat++
		}
		if turn < 60 && turn%4 > 0 && over == 0 {
			h.flow(r, 1)
		} else {
			h.chain(^uint32(0))
			h.turn(a, ^uint32(0))
			h.chain(^uint32(0))
			_, message := conditionOf(h.status(), "Succeeded")
			if over++; !h.isOver() || strings.Contains(message, ", except in ") { // which keeps passed stages
				over = 0
			}
		}
		if h.fault != "" || over == 3 || h.cannotEnd() {
			break
		}
		h.now = h.now.Add(7 * time.Second)
	}
}

// isOver reports whether the rollout has succeeded with what the source holds.
func (h *history) isOver() bool {
	s := h.status()
	done, _ := conditionOf(s, "Succeeded")
	return done && (!h.kind.content() || h.versions[s.Wanted] == h.source())
}

// cannotEnd reports whether a stage is paused, or waits for clusters.
func (h *history) cannotEnd() bool {
	d := h.designs[h.design]
	return slices.ContainsFunc(d.stages, func(st plannedStage) bool {
		has := slices.ContainsFunc(slices.Collect(maps.Values(h.members)), func(m *member) bool { return st.selects(m.labels) })
		return !has || d.paused || st.paused
	})
}

func (h *history) checkEnd() {
	s := h.status()
	d := h.designs[h.design]
	if h.fault != "" || h.cannotEnd() || s.ActiveStage != "" && d.index(s.ActiveStage) < 0 || h.refuses(s, d) {
		return
	}
	_, message := conditionOf(s, "Progressing")
	if !h.isOver() && h.kind == overSpace && !h.restoring.IsZero() && strings.Contains(message, "requireEvidence: None takes it") {
		h.counts["waits for ever after a restore, and says so"]++ // of what was before the delivery nothing is known any more
		return
	}
	if !h.isOver() {
		h.broken("L1: it does not end: %s", message)
		return
	}
	h.counts["finished"]++
	for _, name := range sortedNames(h.members) {
		m := h.members[name]
		i := d.stageOf(m.labels)
		last := len(d.stages) - 1
		if !d.keep && h.kind != overArgo && i >= 0 && !d.stages[last].selects(m.labels) && h.restoring.IsZero() && len(m.objects) > 0 {
			h.broken("L1: cluster %s of a passed stage has %s in the end, under retention Move", name, m.has())
		}
		if i < 0 || !d.keep && i != len(d.stages)-1 || stageIn(s, d.stages[i].name).Phase == v1alpha1.Failed {
			continue
		}
		switch {
		case m.has() == h.source():
		case h.apart && len(m.objects) > 0: // the space has seen more than the hub knows of
			h.counts["ends after a restore of the hub alone"]++
		case h.kind == overHub && d.staged && len(m.objects) > 0: // a Binding stands for the delivery there
			h.counts["unverified ends"]++
		case h.isHidden(m):
			h.counts["ends with more in a held cluster than a restored space knows"]++
		default:
			h.broken("L1: cluster %s has %s in the end, and the source is %s: %s", name, m.has(), h.source(), message)
		}
	}
}

// isHidden reports whether nothing shows what a cluster has, over K1 (3.1): a restored space holds ManifestWorks
// of before, with the content of the source, that leave as it is what the cluster received after the backup. If
// the hub is of the same backup, no version and no uid shows that the status is old (2.11).
func (h *history) isHidden(m *member) bool {
	if h.kind != overSpace || h.restoring.IsZero() || !h.arrived[m.name][m.has()].Before(h.restoring) {
		return false
	}
	return !slices.ContainsFunc(h.space.list(manifestWorkKind), func(work *unstructured.Unstructured) bool {
		manifests, _, _ := unstructured.NestedSlice(work.Object, "spec", "workload", "manifests")
		var told version
		for _, manifest := range manifests {
			if fields := manifest.(map[string]any); (&unstructured.Unstructured{Object: fields}).GetName() == "web" {
				told.web = imageIn(fields)
			} else {
				told.api = imageIn(fields)
			}
		}
		return work.GetNamespace() == m.name && (strategyOf(work) != "CreateOnly" || told != h.source())
	})
}

// refuses reports whether the engine says that this transport cannot do what the spec wants. It must.
func (h *history) refuses(s v1alpha1.Status, d design) bool {
	if h.kind != overHub || !d.staged || d.none {
		return false
	}
	_, message := conditionOf(s, "Stalled")
	if !strings.Contains(message, "updates: Staged asks for evidence Ordered") {
		h.broken("refusal: the transport gives no evidence, and the status says %q", message)
	}
	h.counts["refused"]++
	return true
}
