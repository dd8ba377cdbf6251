package rehearse

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// play advances the time from one thing that happens to the next, until the end.
func (r *run) play(ctx context.Context) error {
	for {
		if err := r.instant(ctx); err != nil {
			return err
		}
		next := r.next()
		if r.isDone() && len(r.changes) == 0 && r.nextSecond().IsZero() || next.IsZero() || ctx.Err() != nil {
			return ctx.Err()
		}
		if next.Sub(r.in.Start) > r.in.Longest {
			r.cutOff = next
			return nil
		}
		r.now = next
	}
}

// instant does everything that is due now.
func (r *run) instant(ctx context.Context) error {
	for range 100 {
		if err := r.changesDue(); err != nil {
			return err
		}
		updated := map[fleet.ObjectRef]bool{}
		for _, c := range r.clusters {
			if err := c.advance(ctx, r.now, updated); err != nil {
				return err
			}
		}
		moved := false
		for _, p := range r.policies {
			maps.Copy(p.updated, updated)
		}
		for _, p := range r.policies {
			did, err := p.decide(ctx)
			if err != nil {
				return err
			}
			moved = moved || did
		}
		if !moved {
			return nil
		}
	}
	return fmt.Errorf("at %s: the rollout does not come to rest", r.now.Sub(r.in.Start))
}

// isDone reports whether all rollouts have succeeded, or, of the others, wait for something that does not
// come by itself.
func (r *run) isDone() bool {
	return !slices.ContainsFunc(r.policies, func(p *policyRun) bool { return !p.done && (p == r.main() || !p.recheck.IsZero()) })
}

// next returns when the next thing happens; zero if nothing will.
func (r *run) next() (next time.Time) {
	consider := func(t time.Time) {
		if t.After(r.now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, p := range r.policies {
		consider(p.recheck)
	}
	consider(r.nextChange())
	consider(r.nextSecond())
	for _, c := range r.clusters {
		consider(c.due)
	}
	for _, after := range r.in.Approvals {
		consider(r.in.Start.Add(after))
	}
	return next
}

// decide makes and executes one decision. It reports whether anything changed.
func (r *policyRun) decide(ctx context.Context) (moved bool, err error) {
	r.approve()
	r.observe()
	d := r.rollout.Decide(r.object.Status, r.now)
	r.recheck = time.Time{}
	if d.RecheckAfter > 0 {
		r.recheck = r.now.Add(d.RecheckAfter)
	}
	r.compare(d)
	if r.in.Explain {
		r.explain()
	}
	moved = r.moved && r == r.main() || !sameStage(r.object.Status, d.Status)
	if !reflect.DeepEqual(r.object.Status, d.Status) {
		r.version++
	}
	r.object.Status = d.Status
	wrote := r.write(d)
	if r.second() || wrote {
		moved = true
		if err := r.bind(); err != nil {
			return false, err
		}
	}
	placed, err := r.place(ctx, moved || r.moved)
	r.moved = false
	return moved || placed, err
}

func sameStage(before, after v1alpha1.Status) bool {
	return before.ActiveStage == after.ActiveStage && slices.EqualFunc(before.Stages, after.Stages, func(a, b v1alpha1.StageStatus) bool {
		return a.Phase == b.Phase && a.StartedBatches == b.StartedBatches
	})
}

// write creates, updates and deletes the BindingPolicies of a decision. It reports whether anything
// changed.
func (r *policyRun) write(d bindingpolicy.Decision) (wrote bool) {
	for _, p := range d.Ensure {
		isNew, changed := r.hub.ensure(p)
		if isNew {
			r.record(Entry{BindingPolicy: p.Name, Text: textCreated})
		}
		wrote = wrote || changed
	}
	for _, name := range d.Remove {
		delete(r.hub.policies, name)
		for _, p := range r.policies {
			p.rollout.ForgetBindingPolicy(name)
			p.rollout.ForgetBinding(name)
		}
		r.record(Entry{BindingPolicy: name, Text: textRemoved})
	}
	return wrote || len(d.Remove) > 0
}

// bind computes the Bindings of the BindingPolicies.
func (r *run) bind() (err error) {
	r.bindings, err = r.hub.bindings()
	for _, b := range r.bindings {
		b.UID = r.hub.policies[b.Name].UID // they are made in this order
		for _, p := range r.policies {
			p.newBindings[b.Name] = true
		}
	}
	return err
}

// place brings the objects of all clusters up to date with the Bindings. If the Bindings have not
// changed, it does so only where it could not before. It reports whether anything changed.
func (r *run) place(ctx context.Context, moved bool) (placed bool, err error) {
	for _, c := range r.clusters {
		if !moved && !c.incomplete {
			continue
		}
		if err := c.catchUp(ctx, r.now); err != nil {
			return placed, err
		}
		changed, err := c.place(ctx, r.hub.wanted(r.bindings, c.name), r.now, func(text string) { r.notePlaced(c, text) })
		if err != nil {
			return placed, err
		}
		if changed {
			c.due, placed = r.now, true
			r.noteHas(c)
		}
	}
	return placed, nil
}

// approve adds the annotations of the approvals that are due, once the rollout asks for them: each
// carries the ticket that the status shows.
func (r *policyRun) approve() {
	for key, after := range r.in.Approvals {
		if r == r.main() && !r.now.Before(r.in.Start.Add(after)) {
			r.consents[key] = "rehearsal"
		}
	}
	meta := r.object.ObjectMeta
	meta.Annotations = maps.Clone(meta.Annotations)
	for _, s := range r.object.Status.Stages {
		if s.Awaiting == nil {
			continue
		}
		gate := s.Awaiting.Gate + "." + s.Name
		r.asked[gate] = true
		if r.consents[gate] == "" {
			continue
		}
		if meta.Annotations == nil {
			meta.Annotations = map[string]string{}
		}
		meta.Annotations[v1alpha1.ApprovalPrefix+gate] = s.Awaiting.Ticket + " " + r.consents[gate]
	}
	r.object.ObjectMeta = meta
}

// observe shows the rollout what has changed on the hub.
func (r *policyRun) observe() {
	r.object.ResourceVersion = strconv.Itoa(r.version)
	r.rollout.Update(r.policy, r.object.ObjectMeta)
	r.rollout.ObserveClusters(r.hub.labels)
	r.rollout.ObserveAnswers(nil, r.gatesOf())
	if w := r.content(); w != nil {
		r.rollout.ObserveWorkload(*w, r.hub.collectors)
		for _, c := range r.delivered() {
			r.rollout.ObserveCluster(c)
		}
	}
	for _, b := range r.bindings {
		if r.newBindings[b.Name] {
			r.rollout.ObserveBindingPolicy(r.hub.policies[b.Name])
			r.rollout.ObserveBinding(b)
		}
		for _, clause := range clauses(b) {
			ref := refOf(clause)
			if !r.newBindings[b.Name] && !r.updated[ref] {
				continue
			}
			r.rollout.ObserveReport(r.hub.report(b, ref))
			if status, ok := r.hub.combine(b, ref); ok {
				r.rollout.ObserveStatus(status)
			}
		}
	}
	clear(r.newBindings)
	clear(r.updated)
}
