package rehearse

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A snapshot is what the hub held from some time on.
type snapshot struct {
	at       time.Time
	version  int // of the StagedBindingPolicy
	policy   *staged.Policy
	status   v1alpha1.Status
	seen     bindingpolicy.Observation
	policies map[string]*control.BindingPolicy
}

// snapshot records what the hub holds now.
func (r *policyRun) snapshot() {
	s := snapshot{at: r.now, version: r.version, policy: r.policy, status: r.object.Status, policies: maps.Clone(r.hub.policies)}
	s.seen = bindingpolicy.Observation{Meta: r.object.ObjectMeta, Clusters: r.hub.labels, Bindings: r.bindings,
		Workload: r.content(), Collectors: r.hub.collectors, Delivered: r.delivered(), Gates: r.gatesOf()}
	for _, name := range slices.Sorted(maps.Keys(r.hub.policies)) {
		s.seen.BindingPolicies = append(s.seen.BindingPolicies, r.hub.policies[name])
	}
	for _, b := range r.bindings {
		for _, clause := range clauses(b) {
			s.seen.Reports = append(s.seen.Reports, r.hub.report(b, refOf(clause)))
			if status, ok := r.hub.combine(b, refOf(clause)); ok {
				s.seen.Statuses = append(s.seen.Statuses, status)
			}
		}
	}
	if n := len(r.past); n == 0 || r.past[n-1].version != s.version || !reflect.DeepEqual(r.past[n-1].seen, s.seen) {
		r.past = append(r.past, s)
	}
}

// second makes decisions of the other players, each from what was seen some time ago. A player writes
// the status first: if what it saw is not the newest, it writes nothing.
func (r *policyRun) second() (wrote bool) {
	lags := r.in.Script.lags()
	if len(lags) == 0 {
		return false
	}
	r.snapshot()
	for _, lag := range lags {
		if old := r.seenBefore(r.now.Add(-lag)); old != nil && r.decideLate(*old, lag) {
			wrote = true
		}
	}
	limit := r.now.Add(-slices.Max(lags))
	for len(r.past) > 1 && !r.past[1].at.After(limit) {
		r.past = r.past[1:]
	}
	return wrote
}

// seenBefore returns the last snapshot up to a time; nil without one.
func (r *policyRun) seenBefore(limit time.Time) (last *snapshot) {
	for i := range r.past {
		if !r.past[i].at.After(limit) {
			last = &r.past[i]
		}
	}
	return last
}

// decideLate makes a decision of a player that sees what was some time ago.
func (r *policyRun) decideLate(old snapshot, lag time.Duration) (wrote bool) {
	d := bindingpolicy.Decide(old.policy, old.status, old.seen, r.now)
	if reflect.DeepEqual(d.Status, old.status) && len(d.Remove) == 0 && !changes(d, old.policies) {
		return false
	}
	name := "the second player"
	if len(r.in.Script.lags()) > 1 {
		name = fmt.Sprintf("the player that is %s late", lag)
	}
	if old.version != r.version {
		if r.refused[lag] != old.version {
			r.record(Entry{Text: fmt.Sprintf("%s is %d writes behind: its write is refused", name, r.version-old.version)})
		}
		r.refused[lag] = old.version
		return false
	}
	r.record(Entry{Text: name + " decides: " + d.Message})
	r.object.Status = d.Status
	r.version++
	return r.write(d)
}

// changes reports whether a decision asks for BindingPolicies that are not there.
func changes(d bindingpolicy.Decision, have map[string]*control.BindingPolicy) bool {
	return slices.ContainsFunc(d.Ensure, func(p *control.BindingPolicy) bool {
		old := have[p.Name]
		return old == nil || !reflect.DeepEqual(old.Spec, p.Spec)
	})
}

// nextSecond returns when another player sees the next thing; zero: never.
func (r *run) nextSecond() (next time.Time) {
	for _, p := range r.policies {
		for _, s := range p.past {
			for _, lag := range r.in.Script.lags() {
				if at := s.at.Add(lag); at.After(r.now) && (next.IsZero() || at.Before(next)) {
					next = at
				}
			}
		}
	}
	return next
}
