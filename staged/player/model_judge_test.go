package player_test

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	fleets "github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// judge looks at a status that a player has written.
func (h *history) judge(a *actor, before, after v1alpha1.Status) {
	d := h.designAt(after.ObservedGeneration)
	h.counts["statuses"]++
	_, message := conditionOf(after, "Progressing")
	if h.verbose {
		h.note("player %d writes: %s | %s", a.nth, message, phasesOf(after))
	}
	h.checkWanted(before, after)
	h.noteAsked(before, after)
	if before.Wanted != after.Wanted && before.Wanted != "" {
		h.counts["revisions superseded"]++
	}
	for i, s := range d.stages {
		was, is := stageIn(before, s.name), stageIn(after, s.name)
		if is.Phase == v1alpha1.RolledBack && was.Phase != is.Phase {
			h.checkBack(a, after)
		}
		switch {
		case h.endsAgain(was, is):
			h.counts["ends of stages that had ended"]++
		case is.Phase == v1alpha1.Skipped && was.Phase == is.Phase && was.FulfilledWith == "":
			h.fulfill(after, d, s.name) // with the revision that it was skipped with, which was not known
		case is.Phase == v1alpha1.Skipped && (was.Phase != is.Phase || was.FulfilledWith != is.FulfilledWith):
			h.skipped(a, after, d, i)
		case is.FulfilledWith != was.FulfilledWith && is.FulfilledWith == after.Wanted && is.Phase != v1alpha1.Skipped,
			is.Phase == v1alpha1.Succeeded && is.CompletedAt != nil && (was.Phase != is.Phase || was.Attempt != is.Attempt && !h.trust || was.FulfilledWith != is.FulfilledWith),
			is.FulfilledWith == after.Wanted && is.Phase != v1alpha1.Progressing && !h.trust && newlyGood(before, after, s.name): // it is fulfilled again, with another cluster
			h.passed(a, after, d, i)
		case hasFailedPhase(is.Phase) && !hasFailedPhase(was.Phase):
			h.failed(a, after, d, i)
		case hasFailedPhase(was.Phase) && !hasFailedPhase(is.Phase):
			h.rearmed(before, after, d, s.name)
		}
		if hasEnded(is) {
			h.endedAt[s.name] = h.now
		}
		again := was.Attempt != is.Attempt && (d.staged || before.Wanted == after.Wanted) && // with AtOnce a new revision begins no stage
			!(h.trust && hasEnded(was) && hasEnded(is)) // a restored status begins an attempt of stages that have ended, and they stay so
		if s.name == after.ActiveStage && (before.ActiveStage != s.name || was.Phase == v1alpha1.Pending || again) && is.EnteredAt != nil && !hasFailedPhase(is.Phase) {
			h.enters(a, before, after, d, i)
		}
		if i == d.index(after.ActiveStage) {
			h.noteUnmet(a, after, d, i)
		}
	}
	h.lostStatus = h.lostStatus && after.ActiveStage == ""
	h.checkLedger(a, before, after, d)
	h.checkClaims(a, after, d, message)
	if before.Wanted != after.Wanted && before.Wanted != "" {
		h.trust, h.lostStatus = false, false
	}
}

func hasEnded(rec v1alpha1.StageStatus) bool {
	return rec.Phase == v1alpha1.Succeeded && rec.CompletedAt != nil
}

// endsAgain reports whether a stage ends that had ended since it began, and waited for a stage that an edit has put
// behind it and taken away: it is fulfilled for this revision and attempt already.
func (h *history) endsAgain(was, is v1alpha1.StageStatus) bool {
	return hasEnded(is) && was.Phase == v1alpha1.Soaking && was.FulfilledWith == is.FulfilledWith && was.Attempt == is.Attempt && h.endedAt[is.Name].After(h.entered[is.Name])
}

func phasesOf(s v1alpha1.Status) (text string) {
	for _, rec := range s.Stages {
		text += " " + rec.Name + "=" + string(rec.Phase)
	}
	return s.ActiveStage + ":" + text
}

// noteAsked notes from when on an approval counts: another revision, plan or attempt asks again.
func (h *history) noteAsked(before, after v1alpha1.Status) {
	if before.Wanted != after.Wanted {
		h.asked, h.chosen = h.steps, h.now
		h.chosenAt[after.Wanted] = h.now
		for _, of := range h.fulfilled {
			maps.DeleteFunc(of, func(revision string, _ bool) bool { return revision != "" })
		}
	}
	if h.designAt(before.ObservedGeneration).plan() != h.designAt(after.ObservedGeneration).plan() && before.ObservedGeneration > 0 {
		h.asked = h.steps
	}
	for _, rec := range after.Stages {
		if was := stageIn(before, rec.Name); was.Attempt != rec.Attempt && was.Attempt > 0 {
			h.askedOf[rec.Name] = h.steps
		}
		if rec.Awaiting != nil {
			h.tickets[rec.Awaiting.Ticket] = true
		}
	}
}

// never is when a stage that does not wait for a cluster waits for it again.
var never = time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC)

// noteUnmet notes for which clusters a decision has seen no reports that satisfy.
func (h *history) noteUnmet(a *actor, s v1alpha1.Status, d design, i int) {
	required := h.required(a, s, d, i)
	for _, c := range sortedNames(a.inventory) {
		stage := d.stages[i].name
		if !slices.Contains(required, c) {
			set(h.excused, stage, c, never)
			continue
		}
		if h.excused[stage][c] == never {
			set(h.excused, stage, c, h.now)
		}
		if !h.shows(a, c) {
			set(h.unmet, stage, c, h.now)
		}
	}
}

// revisionKey is what a stage is fulfilled for: with AtOnce that is any revision.
func revisionKey(s v1alpha1.Status, d design) string {
	if d.staged {
		return s.Wanted
	}
	return ""
}

func (h *history) fulfill(s v1alpha1.Status, d design, stage string) {
	set(h.fulfilled, stage, revisionKey(s, d), true)
	set(h.fulfilled, stage, "", true)
	set(h.ever, stage, s.Wanted, true)
}

// newlyGood reports whether a status says that a cluster of a stage is good with the wanted revision, and the
// status before did not.
func newlyGood(before, after v1alpha1.Status, stage string) bool {
	was := records(before)
	for name, rec := range records(after) {
		if rec.Stage == stage && rec.LastGood == after.Wanted && rec.LastGood != was[name].LastGood {
			return true
		}
	}
	return false
}

// skipped is a stage that is skipped: it may be, and had no cluster.
func (h *history) skipped(a *actor, s v1alpha1.Status, d design, i int) {
	h.counts["skips"]++
	if !d.stages[i].skip {
		h.broken("S1: stage %s is skipped, and may not be", d.stages[i].name)
	}
	if len(h.required(a, s, d, i)) > 0 {
		h.broken("S1: stage %s is skipped, and has clusters", d.stages[i].name)
	}
	h.fulfill(s, d, d.stages[i].name)
}

// proveJoined notes the clusters that are good with a fulfilled stage, although the player does not see their labels yet: a Binding
// names them. They were really healthy; over K0 only sums are known.
func (h *history) proveJoined(s v1alpha1.Status, stage string) {
	for name, rec := range records(s) {
		if rec.Stage == stage && rec.LastGood == s.Wanted && (h.kind == overHub || h.good[name][h.versions[s.Wanted]]) {
			set(h.proven, name, s.Wanted, true)
		}
	}
}

// passed is S2, S5, S7 and S11: a stage is fulfilled.
func (h *history) passed(a *actor, s v1alpha1.Status, d design, i int) {
	st, wanted := d.stages[i], h.versions[s.Wanted]
	h.fulfill(s, d, st.name)
	if h.lostStatus {
		for _, name := range h.required(a, s, d, i) {
			set(h.proven, name, s.Wanted, true) // what it has is what was there (2.8)
		}
		return
	}
	h.counts["passes"]++
	latest := time.Time{}
	for _, name := range h.required(a, s, d, i) {
		if at := h.unmet[st.name][name]; at.After(latest) {
			latest = at
		}
		if h.kind.content() && !(h.trust && h.kind == overSpace) { // there the mark of a restored status may be believed
			h.checkIdentity(a, name, st.name, wanted, d)
		}
		switch at, had := h.arrivedAt(name, wanted); {
		case at.After(latest) && at.After(h.excused[st.name][name]): // else the stage did not wait for it (2.4)
			latest = at
		case !had && h.kind == overHub && h.members[name] != nil && !h.trust:
			h.checkAggregate(a, st.name, name)
		}
		set(h.proven, name, s.Wanted, true)
		h.checkOwner(a, st.name, name)
	}
	h.proveJoined(s, st.name)
	if at := h.entered[st.name]; at.After(latest) && h.kind == overHub {
		latest = at
	}
	if soak, lasted := time.Duration(st.soak)*time.Second, h.witnessedSince(latest); lasted < soak-slack && !h.believes(latest) {
		h.broken("S5: stage %s is fulfilled, and its reports were seen to be good for %v of %v, its soak is %v", st.name, lasted, h.now.Sub(latest), soak)
	}
	if by := stageIn(s, st.name).ApprovedAfter; st.after && !h.isApproved(by, st.name) {
		h.broken("S7: stage %s is left, and its approval %q is older than what is asked (%d)", st.name, by, max(h.asked, h.askedOf[st.name]))
	}
}

// isApproved reports whether a stage was approved since it asks for that, or, as a restored status says, before.
func (h *history) isApproved(by, stage string) bool {
	in := approvedIn(by)
	return in > max(h.asked, h.askedOf[stage]) || h.trust && in > 0 && in <= h.restoredIn
}

// checkOwner is S11: somebody else was there first.
func (h *history) checkOwner(a *actor, stage, cluster string) {
	other := a.seen[key{bindingKind, nameOf("other")}]
	if other == nil || !h.isDestination(other.Object, cluster) {
		return
	}
	theirs, held, first := other.GetCreationTimestamp(), false, false
	for k, b := range a.seen {
		if k.kind == bindingKind && strings.HasPrefix(k.name.Name, "s.stage.") && h.isDestination(b.Object, cluster) {
			mine := b.GetCreationTimestamp()
			held, first = true, first || !theirs.Before(&mine)
		}
	}
	if held && !first {
		h.broken("S11: stage %s is fulfilled, and somebody else had %s first", stage, cluster)
	}
}

func (h *history) isDestination(binding map[string]any, cluster string) bool {
	destinations, _, _ := unstructured.NestedSlice(binding, "spec", "destinations")
	return slices.ContainsFunc(destinations, func(d any) bool { return d.(map[string]any)["clusterId"] == cluster })
}

// enters is S1 and S7: a stage begins.
func (h *history) enters(a *actor, before, after v1alpha1.Status, d design, i int) {
	st := d.stages[i]
	h.entered[st.name], h.unmet[st.name] = h.now, nil
	if h.lostStatus {
		return
	}
	h.counts["entries"]++
	for j := range i {
		earlier := d.stages[j]
		rec := stageIn(after, earlier.name)
		switch {
		case h.fulfilled[earlier.name][revisionKey(after, d)], h.trust && h.wasFulfilled(earlier.name, after, d):
		case rec.Phase == v1alpha1.Failed && earlier.onFailure == "Continue": // it stays left, whatever is edited later
			set(h.fulfilled, earlier.name, revisionKey(after, d), true)
		default:
			h.broken("S1: stage %s begins, and %s (%s) is not fulfilled", st.name, earlier.name, rec.Phase)
		}
	}
	was := d.index(before.ActiveStage)
	by := stageIn(after, st.name).ApprovedBefore
	if st.before && was <= i && !h.isApproved(by, st.name) {
		h.broken("S7: stage %s begins, and its approval %q is older than what is asked (%d)", st.name, by, max(h.asked, h.askedOf[st.name]))
	}
	if st.windows && was <= i && !isOpen(h.now) && !isOpen(h.now.Add(-slack)) && !isOpen(h.now.Add(slack)) {
		h.checkWindow(a, st.name)
	}
}

// checkWindow is that a stage begins within its windows, by the time of the hub. A player that does not
// know that time has its own.
func (h *history) checkWindow(a *actor, stage string) {
	if a.offset == 0 {
		h.broken("S1: stage %s begins at %s, outside its windows", stage, h.now.Format("15:04:05"))
	}
	h.counts["windows by a wrong clock"]++
}

// failed is S6: a deadline counts from the real delivery, and nothing fails before it was placed.
func (h *history) failed(a *actor, s v1alpha1.Status, d design, i int) {
	st := d.stages[i]
	rec := stageIn(s, st.name)
	h.failedAt[st.name] = h.steps
	h.counts["failures"]++
	if rec.Phase == v1alpha1.RollbackNeeded {
		h.checkNeeded(s, rec)
	}
	if strings.Contains(rec.Message, "failureCondition is true") {
		h.checkCause(a, s, d, i)
	}
	if _, reasons, set := strings.Cut(rec.Message, "are set aside, at most"); set && strings.Count(reasons, undelivered) > strings.Count(reasons, "; ") {
		h.broken("S6: stage %s fails, and only deliveries take too long: %s", st.name, rec.Message)
	}
	if h.believes(h.entered[st.name]) || !strings.Contains(rec.Message, "did not hold within") || st.deadline == 0 {
		return
	}
	deadline := time.Duration(st.deadline) * time.Second
	if h.now.Sub(h.entered[st.name]) < deadline-slack {
		h.broken("S6: stage %s fails %v after it began, its deadline is %v", st.name, h.now.Sub(h.entered[st.name]), deadline)
	}
	if !h.kind.content() || st.concurrency < 0 {
		return
	}
	required := h.required(a, s, d, i)
	for _, b := range rec.Batches[:rec.StartedBatches] {
		for _, name := range b.Clusters {
			at, has := h.arrived[name][h.versions[s.Wanted]]
			if h.members[name] != nil && slices.Contains(required, name) && (!has || h.now.Sub(at) < deadline-slack) {
				h.broken("S6: stage %s fails by its deadline, and %s has the revision since %v", st.name, name, h.now.Sub(at))
			}
		}
	}
}

// checkCause is S2 for failures: something was really bad with the revision, in a cluster that the stage selects
// (2.1.1). No status of another revision fails a stage, and no cluster that a placement only keeps.
func (h *history) checkCause(a *actor, s v1alpha1.Status, d design, i int) {
	if h.trust && !h.kind.places() || !h.kind.content() || !d.staged || d.none {
		return
	}
	wanted := h.versions[s.Wanted]
	fails := func(c string) bool { // the stage, or a later one for which all are rolled back
		return slices.ContainsFunc(d.stages[i:], func(st plannedStage) bool {
			return st.selects(a.sees(c)) && (st.name == d.stages[i].name || st.onFailure == "RollbackAll" && hasFailedPhase(stageIn(s, st.name).Phase))
		})
	}
	was := slices.ContainsFunc(sortedNames(a.inventory), func(c string) bool {
		return fails(c) && (h.sick[c+"/web"][wanted.web] || h.sick[c+"/api"][wanted.api] || h.isHole(h.oldReport(a, c, wanted), c, wanted))
	})
	if !was {
		h.broken("S2: stage %s fails for %s, and nothing was ever bad with it in its clusters", d.stages[i].name, wanted)
	}
}

// checkBack is that a stage was rolled back only once its clusters really have what they go back to (2.6), unless
// the player has not seen yet that they were given something else.
func (h *history) checkBack(a *actor, s v1alpha1.Status) {
	for name, rec := range records(s) {
		m := h.members[name]
		if rec.Back == "" || m == nil || !h.kind.places() || m.has() == h.versions[rec.Back] {
			continue
		}
		for _, kind := range a.direct.Kinds() {
			if a.shown[kind] < len(h.serverOf(kind).changes[kind]) {
				h.counts["rolled back by an old view"]++
				return
			}
		}
		h.broken("S4: a stage is rolled back, and cluster %s has %s instead of %s", name, m.has(), h.versions[rec.Back])
	}
}

// checkNeeded is that a transport that cannot place an old revision says which one the source must hold.
func (h *history) checkNeeded(s v1alpha1.Status, stage v1alpha1.StageStatus) {
	_, message := conditionOf(s, "Stalled")
	for name, rec := range records(s) {
		if digits := strings.TrimPrefix(rec.Back, "sha256:"); rec.Back != "" && rec.Applied != rec.Back && !strings.Contains(message, digits[:12]) && !strings.Contains(message, "more") {
			h.broken("refusal: %s cannot go back to %s, and the status says %q", name, h.versions[rec.Back], message)
		}
	}
	h.counts["rollbacks that need the source"]++
}

// rearmed is S8: a failure stays until another revision, or a retry by name.
func (h *history) rearmed(before, after v1alpha1.Status, d design, stage string) {
	old := h.designAt(before.ObservedGeneration)
	was, is := stageIn(before, stage), stageIn(after, stage)
	continued := was.CompletedAt != nil || d.stages[d.index(stage)].onFailure == "Continue" && is.Attempt == was.Attempt && is.StartedBatches > was.StartedBatches
	switch {
	case before.Wanted != after.Wanted, h.retriedAt[stage] >= h.failedAt[stage] && h.retriedAt[stage] > 0, continued, h.lostStatus, h.trust && h.retriedAt[stage] > 0:
	case old.plan() != d.plan() && (d.restart || old.index(stage) < 0):
	default:
		h.broken("S8: stage %s begins again from %s, and nobody has asked for that", stage, stageIn(before, stage).Phase)
	}
}

// checkLedger is S1, S4, S13 and S14 for each cluster: what it should have.
func (h *history) checkLedger(a *actor, before, after v1alpha1.Status, d design) {
	was := records(before)
	for name, rec := range records(after) {
		if rec.SetAside != was[name].SetAside {
			h.checkDelivery(name, rec.SetAside, before)
		}
		if rec.Applied != was[name].Applied {
			h.checkApplied(name, rec.Applied, was[name].Applied)
		}
		if i := d.index(rec.Stage); rec.Fresh && !was[name].Fresh && i >= 0 && d.stages[i].withdraw {
			h.vouched[name] = true
		}
		if rec.LastGood != was[name].LastGood && !h.restoring.IsZero() && h.hadSince(name, h.versions[rec.LastGood], h.restoring) {
			set(h.baselines, name, rec.LastGood, true) // of a status that was lost (2.8)
		}
		if rec.Of != was[name].Of && rec.Of == after.Wanted && rec.Of != "" {
			h.checkGood(a, name, after, d)
		}
		if rec.Back != was[name].Back && rec.Back != "" {
			h.counts["clusters sent back"]++
		}
		if rec.Back != "" && rec.Back != was[name].Back && !h.proven[name][rec.Back] && !h.trust && h.baselineID(name) != rec.Back && !h.baselines[name][rec.Back] && (h.restoring.IsZero() || !h.good[name][h.versions[rec.Back]]) {
			h.broken("S4: cluster %s goes back to %s, with which it was never good", name, h.versions[rec.Back])
		}
		if rec.Desired == v1alpha1.Withdrawn && was[name].Desired != rec.Desired && (h.baseline[name] != version{}) && !h.vouches(a, name, d) {
			h.broken("S4: cluster %s is withdrawn, and had the workload before", name)
		}
		if rec.Desired != was[name].Desired && rec.Desired != "" && rec.Desired != v1alpha1.Hold && rec.Desired != v1alpha1.Withdrawn {
			h.checkDesired(a, name, rec, after, d)
		}
		if h.kind.places() {
			for _, id := range []string{rec.Desired, rec.Applied, rec.LastGood, rec.Back} {
				if _, kept := h.snapshots[fleets.RevisionID(id)]; strings.HasPrefix(id, "sha256:") && !kept && h.versions[id] != (version{}) && h.baselineID(name) != id { // the hub never had that
					h.broken("S14: the status names %s for %s, and its snapshot does not exist", h.versions[id], name)
				}
			}
		}
	}
}

// checkApplied is that a cluster really had what a status says was applied there.
func (h *history) checkApplied(cluster, id, before string) {
	v := h.versions[id]
	set(h.from, cluster, id, before)
	if _, had := h.arrived[cluster][v]; !had && v != (version{}) && h.kind.content() && h.members[cluster] != nil {
		h.broken("S2: the status says that %s was applied in %s, and it never was", v, cluster)
	}
}

// hadSince reports whether a cluster has a version, or came to have it after a time.
func (h *history) hadSince(cluster string, v version, since time.Time) bool {
	m := h.members[cluster]
	return m != nil && (m.has() == v || h.arrived[cluster][v].After(since))
}

func (h *history) baselineID(cluster string) string {
	if v := h.baseline[cluster]; v != (version{}) {
		return h.idOf(v)
	}
	return ""
}

// checkDesired is S1 and S13: a cluster should have another revision.
func (h *history) checkDesired(a *actor, name string, rec v1alpha1.ClusterRecord, s v1alpha1.Status, d design) {
	m := h.members[name]
	if m == nil || h.trust && !h.kind.places() || h.lostStatus || !h.kind.content() || !d.staged {
		return
	}
	v := h.versions[rec.Desired]
	k := d.stageOf(a.sees(name))
	switch {
	case m.has() == v, rec.Desired == rec.Back, rec.Desired == rec.LastGood:
		return
	case k >= 0 && h.ever[d.stages[k].name][rec.Desired]:
		return
	case rec.Desired != s.Wanted:
		h.broken("S13: cluster %s should have %s, which is neither wanted nor what it had", name, v)
		return
	}
	for j := range max(0, k) {
		earlier := stageIn(s, d.stages[j].name)
		if !h.fulfilled[earlier.Name][s.Wanted] && !(h.trust && h.wasFulfilled(earlier.Name, s, d)) && !(earlier.Phase == v1alpha1.Failed && d.stages[j].onFailure == "Continue") {
			h.broken("S1: cluster %s of stage %s should have %s, and stage %s (%s) is not fulfilled for it", name, d.stages[k].name, v, earlier.Name, earlier.Phase)
		}
	}
}

// checkClaims is S10 and L2: what a status claims is so, and a wait says what it waits for.
func (h *history) checkClaims(a *actor, s v1alpha1.Status, d design, message string) {
	if verified, _ := conditionOf(s, "Verified"); verified && (!h.kind.content() || d.none || !d.staged) {
		h.broken("S10: Verified, and the evidence is None")
	}
	done, _ := conditionOf(s, "Succeeded")
	if !done {
		h.checkWaits(a, s, d, message)
		named := slices.ContainsFunc(sortedNames(a.inventory), func(c string) bool { return strings.Contains(message, c) })
		if !named && !strings.Contains(message, `"`) {
			h.broken("L2: the status says %q, which names nothing", message)
		}
		return
	}
	h.counts["ends"]++
	if !d.staged || !h.kind.content() || h.trust && !h.kind.places() {
		return
	}
	for _, name := range sortedNames(h.members) {
		m := h.members[name]
		labels := a.sees(name)
		i := d.stageOf(labels)
		if i < 0 || len(a.inventory[name]) == 0 || !d.keep && i < d.index(s.ActiveStage) || i > d.index(s.ActiveStage) || strings.Contains(message, name) {
			continue
		}
		if at, has := h.arrived[name][h.versions[s.Wanted]]; m.has() != h.versions[s.Wanted] && (!has || at.Before(h.chosen)) && stageIn(s, d.stages[i].name).Phase != v1alpha1.Failed {
			h.broken("S10: Succeeded with %s, and %s has %s and is not named", h.versions[s.Wanted], name, m.has())
		}
	}
}
