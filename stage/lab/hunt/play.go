package hunt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/features"
)

// An Outcome is what came of a run.
type Outcome struct {
	Plan Plan
	// Findings are what the checks say, at most one of each check and kind.
	Findings []Finding
	// Story is what happened, in order.
	Story []Line
	// TwinStory is the part of the twin's story that begins with its first write that the run lacks, up to twenty lines;
	// for runs with findings only. None if the run has all of them.
	TwinStory []Line
	// Sites are what the run reached, in order.
	Sites []Site
	// Missed are the faults that struck nothing: their sites did not occur.
	Missed []Fault

	end       map[string]any // the state at the end, by object
	replaced  []string       // objects of it that were touched before they were made again
	left      []string       // what is there after all was deleted
	counts    map[string]int // objects made and deleted by processes, of precious kinds
	writes    []write
	reads     informers
	clocked   bool           // a process asked for the time
	elected   []string       // processes with leader election
	steps     int            // of the users
	applied   int            // objects that the users applied
	uses      []features.Use // what the lab does not model
	realClock string
	idle      []string // controllers that reconciled nothing
	resting   []string // processes whose controllers reconciled nothing
	judged    int      // sites before the end was judged
	ended     int      // writes before it
	twin      *Outcome // of a run with findings
	missing   int      // the line of the twin with which TwinStory begins
}

// A Finding is what a check says of a run.
type Finding struct {
	Check string // its name
	Kind  string // of object, or what else the check is about
	Text  string // several lines
}

// A Line is a thing that happened.
type Line struct {
	At   time.Duration // since the start
	Who  string        // a process, user, fault or check
	Text string
}

// String prints "+1m0s    operator   text".
func (l Line) String() string { return fmt.Sprintf("%-9s %-10s %s", "+"+l.At.String(), l.Who, l.Text) }

// informers are the kinds that processes read without a watch, by process.
type informers map[string][]schema.GroupVersionKind

func (i *informers) add(process string, kind schema.GroupVersionKind) {
	if *i == nil {
		*i = informers{}
	}
	if !slices.Contains((*i)[process], kind) {
		(*i)[process] = append((*i)[process], kind)
	}
}

// with returns the union of both.
func (i informers) with(more informers) informers {
	all := informers{}
	for _, m := range []informers{i, more} {
		for _, process := range slices.Sorted(maps.Keys(m)) {
			for _, kind := range m[process] {
				all.add(process, kind)
			}
		}
	}
	return all
}

// play carries out a run. twinOf returns the outcome of its twin, given what users have done because
// of the plan; it is nil if the run is a twin.
func (s *scene) play(plan Plan, twinOf func([]Fault) (*Outcome, error)) (out *Outcome, err error) {
	failed := caught(func() { out, err = s.carryOut(plan, twinOf) })
	return out, errors.Join(err, failed)
}

// caught calls a function and returns why its lab failed.
func caught(do func()) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			failure, ok := cause.(labFailure)
			if !ok {
				panic(cause)
			}
			err = fmt.Errorf("hunt: the scenario: %s", failure.text)
		}
	}()
	do()
	return nil
}

func (s *scene) carryOut(plan Plan, twinOf func([]Fault) (*Outcome, error)) (out *Outcome, err error) {
	r := newRun(s, plan)
	var twin *Outcome
	if twinOf == nil && !plan.steps() {
		r.restOften()
	} else {
		r.playUntil(r.lastStep().Add(r.options.Patience))
	}
	if twinOf != nil {
		if twin, err = twinOf(r.acted); err != nil {
			return nil, err
		}
		unkilled := slices.DeleteFunc(slices.Clone(r.acted), Fault.ofOthers)
		if r.other, err = twinOf(unkilled); err != nil {
			return nil, err
		}
	}
	r.judged = true
	r.outcome.judged, r.outcome.ended = len(r.outcome.Sites), len(r.writes)
	r.judge(twin)
	r.restart(twin)
	r.deleteAll(twin)
	return r.close(twin), nil
}

// steps reports whether the plan has users take a step sooner. Then other ends may be as good as that
// of users who wait: the twin has users act at the same sites.
func (p Plan) steps() bool {
	return slices.ContainsFunc(p.Faults, func(f Fault) bool { return f.Do == Step })
}

// orphans reports whether users let objects stay that a controller has made: how many there were at
// that moment decides how the run ends, and they can be in the way of later ones.
func (p Plan) orphans() bool {
	return slices.ContainsFunc(p.Faults, func(f Fault) bool { return f.Policy == "orphan" })
}

// skews reports whether a clock differs for a while: what is due for a process that starts again is
// then other than what was due for it before.
func (p Plan) skews() bool {
	return slices.ContainsFunc(p.Faults, func(f Fault) bool { return f.Do == Skew })
}

// lastStep is when the users take their last step.
func (r *Run) lastStep() time.Time {
	if n := len(r.steps); n > 0 && r.steps[n-1].at.After(r.sim.Now()) {
		return r.steps[n-1].at
	}
	return r.sim.Now()
}

// restOften plays a twin: users take each step, and do each thing that the plan has them do, when
// what was before is at rest.
func (r *Run) restOften() {
	r.manual = true
	for n := 0; ; n++ {
		for _, f := range r.plan.Faults {
			if f.steps == n {
				r.playUntil(r.sim.Now().Add(r.options.Patience))
				_ = r.act(f) // the twin may have nothing that this is about
			}
		}
		if n == len(r.steps) {
			break
		}
		r.playUntil(r.steps[n].at)
		r.takeSteps(n + 1)
	}
	r.playUntil(r.sim.Now().Add(r.options.Patience))
}

// playUntil plays until a time, or later if that is not long after the last fault, or until nothing
// is due.
func (r *Run) playUntil(end time.Time) {
	for r.observe(); r.playFirst(r.rest(end)); r.observe() {
	}
	if !r.isIdle() {
		r.advanceTo(r.rest(end))
	}
}

// rest returns a time, or later if that is not long after the last fault.
func (r *Run) rest(end time.Time) time.Time {
	if after := r.disturbed.Add(r.options.Patience); after.After(end) {
		return after
	}
	return end
}

// playFirst plays what is due first, if that is not after a time, and reports whether it has.
func (r *Run) playFirst(end time.Time) bool {
	at, program, ok := r.earliest()
	if !ok || at.After(end) {
		return false
	}
	r.playNext(at, program)
	r.checkAlways()
	return true
}

func (r *Run) advanceTo(end time.Time) {
	if end.After(r.sim.Now()) {
		r.must(r.sim.Advance(context.Background(), end.Sub(r.sim.Now())))
	}
}

// observe has the processes see what has happened.
func (r *Run) observe() {
	for _, kind := range r.logged {
		r.logs[kind].read(r.sim.Now())
	}
	for _, p := range r.programs {
		if at, ok := p.begins(); p.life == nil && ok && !at.After(r.sim.Now()) {
			r.begin(p)
		}
		if p.life != nil && !p.paused {
			p.life.see()
		}
	}
}

func byText(a, b schema.GroupVersionKind) int {
	if a.String() < b.String() {
		return -1
	}
	return 1
}

// earliest returns what is due first: a program, or, if that is nil, the cluster or a user. The
// cluster comes before the programs, and those in the order of the scenario.
func (r *Run) earliest() (at time.Time, first *program, ok bool) {
	sooner := func(t time.Time, is bool, p *program) {
		if t.Before(r.sim.Now()) {
			t = r.sim.Now()
		}
		if is && (!ok || t.Before(at)) {
			at, first, ok = t, p, true
		}
	}
	for _, s := range r.steps {
		sooner(s.at, !s.done && !r.manual, nil)
	}
	for _, a := range r.users {
		sooner(a.at, true, nil)
	}
	t, is := r.sim.Next()
	sooner(t, is, nil)
	for _, p := range r.programs {
		t, is := r.nextOf(p)
		sooner(t, is, p)
	}
	return at, first, ok
}

// playNext does what is due first.
func (r *Run) playNext(at time.Time, p *program) {
	if p == nil {
		r.playCluster(at)
		return
	}
	r.must(r.sim.Advance(context.Background(), at.Sub(r.sim.Now())))
	if p.life != nil && !r.lostLease(p.life) {
		if at, ok := p.life.loop.NextDue(); ok && !at.After(r.sim.Now()) {
			p.life.step(r.sim.Now())
		}
	}
}

// playCluster has users act, or else the cluster do what is due.
func (r *Run) playCluster(at time.Time) {
	acted := false
	for i := range r.steps {
		if !r.manual && !r.steps[i].done && !r.steps[i].at.After(at) {
			r.must(r.sim.Advance(context.Background(), at.Sub(r.sim.Now())))
			r.takeSteps(i + 1)
			acted = true
		}
	}
	for i := 0; i < len(r.users); i++ {
		if a := r.users[i]; !a.at.After(at) {
			r.must(r.sim.Advance(context.Background(), at.Sub(r.sim.Now())))
			r.users = slices.Delete(r.users, i, i+1)
			r.do(a)
			return
		}
	}
	if !acted {
		_, err := r.sim.Step(context.Background())
		r.must(err)
	}
}

func (r *Run) must(err error) {
	if err != nil {
		panic(labFailure{err.Error()})
	}
}

// restart has all processes start again over the final state.
func (r *Run) restart(twin *Outcome) {
	for _, p := range r.programs {
		if p.life != nil {
			p.life.die()
		}
		p.release()
		p.up = r.sim.Now()
	}
	r.tell(whoHunt, "all processes start again")
	before := len(r.writes)
	r.playUntil(r.sim.Now().Add(r.options.Patience))
	r.checkRestart(r.writes[before:], twin)
}

// deleteAll has the users delete what they applied, the last first.
func (r *Run) deleteAll(twin *Outcome) {
	r.deleting = true
	r.tell(whoHunt, "the users delete what they applied")
	for _, obj := range slices.Backward(r.applied) {
		_ = r.deleteApplied(metav1.DeletePropagationBackground, obj) // it may be gone
	}
	r.playUntil(r.sim.Now().Add(r.options.Patience))
	r.checkDeleted(twin)
}

// close ends a run.
func (r *Run) close(twin *Outcome) *Outcome {
	for _, p := range r.programs {
		if p.life != nil {
			p.life.die()
		}
	}
	out := r.outcome
	out.uses, out.realClock = r.lab.NotModelled(), r.lab.RealClock()
	out.idle, out.resting = r.idle()
	out.steps, out.applied = len(r.steps), len(r.applied)
	out.writes = r.writes
	out.counts = map[string]int{}
	for _, w := range r.writes {
		r.count(w)
	}
	r.checkCounts(twin)
	for _, planned := range r.faults {
		for _, f := range planned {
			if !f.struck && !slices.Contains(out.Missed, f.Fault) {
				out.Missed = append(out.Missed, f.Fault)
			}
		}
	}
	slices.SortFunc(out.Missed, func(a, b Fault) int {
		return slices.Index(r.plan.Faults, a) - slices.Index(r.plan.Faults, b)
	})
	if twin != nil {
		if len(out.Findings) > 0 {
			r.mark(twin)
		}
		out.writes = nil // what they wrote is needed of twins only
	}
	return out
}
