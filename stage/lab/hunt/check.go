package hunt

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

// The names of the checks.
const (
	checkPanic      = "no reconcile panics"
	checkLivelock   = "time passes"
	checkAlways     = "always"
	checkEventually = "eventually"
	checkEnd        = "the same end"
	checkCease      = "writes cease"
	checkOrphan     = "nothing is made for what is gone"
	checkErrors     = "errors cease"
	checkRestart    = "a restart changes nothing"
	checkLeft       = "nothing is left"
	checkGone       = "deletion ends"
	checkTwice      = "nothing is made twice"
	checkCache      = "caches are not changed"
)

// judge checks the final state.
func (r *Run) judge(twin *Outcome) {
	r.checkCease()
	if !r.plan.orphans() {
		r.checkErrors()
	}
	for _, c := range r.finally {
		if err := c.do(&View{r}); err != nil {
			r.find(checkEventually, c.name, "%s: %v", c.name, err)
		}
	}
	r.outcome.end, r.outcome.replaced = r.state(), r.replacedSince()
	if twin != nil && !r.plan.steps() && !r.plan.orphans() {
		r.compare(twin)
	}
}

// checkCease finds controllers that do not stop writing: one write may be a late retry.
func (r *Run) checkCease() {
	late := 0
	for _, w := range r.writes {
		if w.effective && r.sim.Now().Sub(w.at) < r.options.Patience/3 {
			late++
		}
	}
	if late >= 3 && !r.isIdle() {
		w := r.writes[len(r.writes)-1]
		r.find(checkCease, w.Kind, "%s still writes %s after %s", w.Process, w.Kind, r.options.Patience)
	}
}

// checkErrors finds keys that fail to the end.
func (r *Run) checkErrors() {
	for _, p := range r.programs {
		if p.life == nil {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(p.life.failing)) {
			controller, _, _ := strings.Cut(key, " ")
			r.find(checkErrors, controller, "%s: %v", key, p.life.failing[key])
		}
	}
}

// isIdle reports whether nothing is due.
func (r *Run) isIdle() bool {
	_, _, due := r.earliest()
	return !due
}

// compare finds where the final state differs from that of the twin, and from the one without kills.
func (r *Run) compare(twin *Outcome) {
	if object.DeepEqual(twin.end, r.outcome.end) {
		return
	}
	kind, lines := differenceOf(twin, r.outcome)
	_, others := differenceOf(r.other, r.outcome)
	if len(lines) > 0 && len(others) > 0 {
		r.find(checkEnd, kind, "%s", strings.Join(lines, "\n"))
	}
}

func differenceOf(twin, here *Outcome) (kind string, lines []string) {
	names := slices.Concat(twin.replaced, here.replaced)
	return difference(untouched(twin.end, names), untouched(here.end, names))
}

// checkRestart finds writes of controllers that have started again over the final state.
func (r *Run) checkRestart(writes []write, twin *Outcome) {
	for _, w := range writes {
		if w.effective && !r.plan.orphans() && !r.plan.skews() && (twin == nil || len(r.plan.Faults) == 0 || !r.struckSinceRestart()) {
			r.find(checkRestart, w.Kind, "%s %s: %s %s %s", w.Controller, w.Key, w.Verb, w.Kind, w.name)
			return
		}
	}
}

// struckSinceRestart reports whether a fault struck after the processes had started again: what is
// written then is no finding.
func (r *Run) struckSinceRestart() bool {
	for _, l := range slices.Backward(r.outcome.Story) {
		switch l.Who {
		case whoHunt:
			return false
		case whoFault:
			return true
		}
	}
	return false
}

// checkDeleted finds what should not be there after the users have deleted what they applied.
func (r *Run) checkDeleted(twin *Outcome) {
	state := r.state()
	for _, obj := range r.applied {
		if _, there := state[nameOfObject(obj)]; there {
			r.find(checkGone, obj.GetKind(), "%s is still there %s after its deletion", nameOfObject(obj), r.options.Patience)
			return // what it owns is there also
		}
	}
	for _, name := range slices.Sorted(maps.Keys(state)) {
		kind, _, _ := strings.Cut(name, " ")
		if !r.given[name] && !r.options.keeps(kind) && !(twin != nil && slices.Contains(twin.left, name)) {
			r.outcome.left = append(r.outcome.left, name)
		}
	}
	if len(r.outcome.left) > 0 && !r.plan.orphans() {
		kind, _, _ := strings.Cut(r.outcome.left[0], " ")
		r.find(checkLeft, kind, "%s", strings.Join(r.outcome.left, "\n"))
	}
}

// count counts an effective write.
func (r *Run) count(w write) {
	if !w.effective {
		return
	}
	if w.orphan && w.Verb == "create" && len(r.plan.Faults) == 0 {
		r.find(checkOrphan, w.Kind, "%s %s creates %s %s, whose owner is gone", w.Controller, w.Key, w.Kind, w.name)
	}
	if kind, _, status := strings.Cut(w.Kind, "/"); !status && !w.orphan && r.options.precious(kind) && slices.Contains([]string{"create", "delete", "evict"}, w.Verb) {
		r.outcome.counts[kind+" "+w.Verb]++
	}
}

// checkCounts finds objects that were made or deleted more often than by the twin. Where users act
// between a read and a write, one more is no fault of the controller.
func (r *Run) checkCounts(twin *Outcome) {
	if twin == nil || slices.ContainsFunc(r.plan.Faults, func(f Fault) bool { return !f.ofProcess() && f.Do != Touch }) {
		return
	}
	for _, what := range slices.Sorted(maps.Keys(r.outcome.counts)) {
		if n := r.outcome.counts[what]; n > twin.counts[what] {
			kind, verb, _ := strings.Cut(what, " ")
			r.find(checkTwice, kind, "%s %s: %d times, the twin %d", verb, kind, n, twin.counts[what])
		}
	}
}

// String prints "the same end (Deployment):" and the text.
func (f Finding) String() string { return fmt.Sprintf("%s (%s): %s", f.Check, f.Kind, f.Text) }
