package oracle_test

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// stagesOf returns the indices of the stages of the present spec that select a cluster
func (s *sim) stagesOf(c string) (all []int) {
	for i, t := range s.v().st {
		if s.stageSel(t, s.h.cl[c]) {
			all = append(all, i)
		}
	}
	return
}

func (s *sim) noteFulfilled() {
	for _, t := range s.v().st {
		n, ok := 0, true
		for c, l := range s.h.cl {
			if s.stageSel(t, l) {
				n++
				x := s.w[c]
				if !x.ever || s.v().staged && x.everVer < s.cleanV {
					ok = false
				}
			}
		}
		if n > 0 && ok || n == 0 && t.skip {
			s.fulfilled[t.name] = true
		}
	}
}

// onReceive: P1 order
func (s *sim) onReceive(c string, ver int, created bool) {
	s.note("cluster %s receives version %d (created %v)", c, ver, created)
	if s.h.cl[c] == nil {
		return
	}
	in := s.stagesOf(c)
	if len(in) == 0 || s.edited || s.relabelled || s.restored {
		return
	}
	sp := s.v()
	if !created && (!sp.staged || !s.clean) {
		return
	}
	if created && s.workV > 0 && sp.staged {
		return // documented: what is created gets the newest version
	}
	s.noteFulfilled()
	for j := range in[0] {
		t := sp.st[j]
		if s.fulfilled[t.name] || t.fail == "Continue" {
			continue
		}
		s.broken("P1: cluster %s of stage %s receives version %d before stage %s was fulfilled", c, sp.st[in[0]].name, ver, t.name)
	}
}

// onLoss: P5: a cluster that a stage, which the status says is active or (Keep) passed, selects, loses the workload though nobody relabelled
func (s *sim) onLoss(c string) {
	s.note("cluster %s loses the workload", c)
	l := s.h.cl[c]
	if l == nil || s.relabelled || s.restored {
		return
	}
	if s.h.st.ObservedGeneration != int64(s.h.gen) || s.removedGen[c] != 0 && s.removedGen[c] != s.h.gen {
		return
	}
	if was, removed := s.removedFor[c]; removed && was != s.h.st.Wanted { // it was removed for another revision
		return // "a newer revision ends the attempt of the older in all stages" (1.1): what was decided before cannot be called back
	}
	sp := s.v()
	act := slices.IndexFunc(sp.st, func(t stg) bool { return t.name == s.h.st.ActiveStage })
	for i, t := range sp.st {
		if !s.stageSel(t, l) || i > act || !sp.keep && i != act {
			continue
		}
		var ph v1alpha1.Phase
		var rec v1alpha1.StageStatus
		for _, r := range s.h.st.Stages {
			if r.Name == t.name {
				ph, rec = r.Phase, r
			}
		}
		if ph == v1alpha1.RolledBack || ph == v1alpha1.Pending || ph == v1alpha1.Skipped {
			continue
		}
		for _, b := range rec.Batches {
			if b.SetAside != "" && slices.Contains(b.Clusters, c) {
				return
			}
		}
		for n, b := range rec.Batches { // batch not begun
			if slices.Contains(b.Clusters, c) && n >= int(rec.StartedBatches) {
				return
			}
		}
		s.broken("P5: cluster %s of stage %s (%s) loses the workload", c, t.name, ph)
	}
}

func (s *sim) done() bool {
	for _, c := range s.h.st.Conditions {
		if c.Type == "Succeeded" {
			return c.Status == "True"
		}
	}
	return false
}

// checkConcurrency is P2: how many clusters of the active stage have the workload and were never ready
func (s *sim) checkConcurrency() {
	if s.edited || s.relabelled || s.restored || s.workV > 0 {
		return
	}
	sp := s.v()
	for _, t := range sp.st {
		if t.mc == 0 || t.name != s.h.st.ActiveStage {
			continue
		}
		n := 0
		var who []string
		for c, l := range s.h.cl {
			if s.stageSel(t, l) && s.w[c].has && !s.w[c].ever {
				only := true
				for _, k := range s.stagesOf(c) {
					if sp.st[k].name != t.name {
						only = false
					}
				}
				if only {
					n++
					who = append(who, c)
				}
			}
		}
		lim := t.mc
		if lim < 0 {
			lim = -lim
		}
		if n > lim && t.fail != "Continue" {
			s.broken("P2: %d clusters of stage %s at once, at most %d: %v", n, t.name, lim, who)
		}
	}
}

// onStatus: approvals, finished stays finished
func (s *sim) onStatus(before, after v1alpha1.Status, d bindingpolicy.Decision, pl *ply) {
	sp := s.vs[pl.decided.variant]
	// P3 as it was but for the moment: an approval is too old once a status names another revision, plan
	// or attempt, not once the world has changed and nobody has seen it. "An edit, a new revision or a
	// retry makes a new ticket" (2.3), and until then the ticket that is shown is that of the older
	// revision, which "is wanted until then" (1.1).
	if before.Wanted != after.Wanted || before.Plan != after.Plan || slices.ContainsFunc(d.Events, func(e staged.Event) bool { return e.Reason == "Retried" || e.Reason == "RolledBack" }) {
		s.revSeq = s.seq
	}
	for i, t := range sp.st {
		if !t.before || after.ActiveStage != t.name {
			continue
		}
		entered := before.ActiveStage != after.ActiveStage
		if entered && !s.restored {
			_, val, _ := strings.Cut(pl.decided.ann[v1alpha1.ApprovalPrefix+"before."+t.name], " ")
			for _, rec := range after.Stages { // an approval that was seen stays
				if rec.Name == t.name && rec.ApprovedBefore != "" {
					val = rec.ApprovedBefore
				}
			}
			seq, ok := s.apprVals[val]
			was := slices.IndexFunc(sp.st, func(t stg) bool { return t.name == before.ActiveStage })
			if was > i {
				continue // rolled back to it
			}
			if !ok || seq < s.revSeq {
				k := "P3"
				if at, seen := s.seenAppr[val]; !seen || at > s.revSeq {
					k = "P3unseen" // no player had recorded it before the revision changed
				}
				s.broken(k+": stage %s entered, its approval %q (%d) is older than the revision (%d)", t.name, val, seq, s.revSeq)
			}
		}
	}
	for _, rec := range after.Stages {
		for _, v := range []string{rec.ApprovedBefore, rec.ApprovedAfter} {
			if _, ok := s.seenAppr[v]; !ok && v != "" {
				s.seenAppr[v] = s.seq
			}
		}
	}
	if before.ActiveStage != after.ActiveStage && !s.restored {
		for _, t := range sp.st {
			at, ok := s.enteredReal[t.name]
			if t.name == before.ActiveStage && ok && t.soak > 0 && s.now.Sub(at) < time.Duration(t.soak-1)*time.Second {
				for _, rec := range after.Stages {
					if rec.Name == t.name && rec.Phase == v1alpha1.Succeeded {
						s.broken("P8: stage %s is left %v after it was entered, its soak is %ds", t.name, s.now.Sub(at), t.soak)
					}
				}
			}
		}
		// P8 and P9 count from the decision, not from its write, which may come late: a soak is "time in
		// which the reports show uninterrupted satisfaction" (S5), and a deadline "begins when applied == r
		// was observed" (2.5). That decision has seen both.
		s.enteredReal[after.ActiveStage] = pl.at
	} else if before.ActiveStage == after.ActiveStage {
		for i, rec := range after.Stages {
			if rec.Name == after.ActiveStage && i < len(before.Stages) && before.Stages[i].Name == rec.Name && before.Stages[i].EnteredAt != nil && rec.EnteredAt != nil && before.Stages[i].Phase != rec.Phase && before.Stages[i].Phase == v1alpha1.Pending {
				s.enteredReal[rec.Name] = pl.at
			}
		}
	}
	for _, e := range d.Events {
		if strings.Contains(e.Message, "did not hold within 30s") && !s.restored {
			if at, ok := s.enteredReal[before.ActiveStage]; ok && s.now.Sub(at) < 28*time.Second {
				s.broken("P9: %s %s, %v after the stage was entered", e.Reason, e.Message, s.now.Sub(at))
			}
		}
	}
	isDone := false
	for _, c := range after.Conditions {
		if c.Type == "Succeeded" && c.Status == "True" {
			isDone = true
		}
	}
	// P6: "a newer revision ends the attempt of the older in all stages; stages begin again" (1.1). With
	// AtOnce "passed stages stay passed and are not begun again" (2.1), so that this is about Staged.
	if before.Wanted != after.Wanted && sp.staged {
		s.everDone = false
	}
	// A player that sees the clusters as they were says what holds for these: "Succeeded=True implies that
	// every selected cluster has applied == r" (S10).
	if s.everDone && !isDone && maps.EqualFunc(pl.decided.cl, s.h.cl, maps.Equal[map[string]string]) {
		s.broken("P6: a finished rollout is not finished any more: %s", d.Message)
	}
	if isDone {
		s.everDone = true
	}
}
