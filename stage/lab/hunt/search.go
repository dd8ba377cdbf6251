package hunt

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/features"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

// A Report is what a search has found, and how far it came.
type Report struct {
	// Failures are what was found, one for each check and kind.
	Failures []Failure
	// Runs are those with faults; Twins are the runs without faults of processes, with which they are compared.
	Runs, Twins int
	// Phases are what was tried, in order.
	Phases []Phase
	// Missed is how many faults struck nothing.
	Missed int
	// Sites is how many sites were reached, each counted up to its third time. Untouched are the ones at which
	// no fault struck, in the order in which they were reached.
	Sites     int
	Untouched []Site
	// Faults are all kinds of faults, also the ones that never struck.
	Faults []Struck
	// NotModelled is what objects of the run without faults ask for that the lab does not model.
	NotModelled []features.Use
	// RealClock says which status of the run without faults had a time of the real clock, see
	// [labtest.Lab.RealClock]; "" without one.
	RealClock string
	// Idle are the controllers that reconciled nothing in the run without faults: no fault can show
	// what they do wrong. Each is process/controller with its kind.
	Idle []string
	// Ended is whether all runs were made; false if something was found or the time was over.
	Ended bool
}

// A Phase is a part of a search.
type Phase struct {
	Name          string
	Planned, Done int
	News          int // runs that reached a site that no run before had reached
}

// A Failure is what a search has found.
type Failure struct {
	Finding
	// Run is the number of the run that found it, from 1; 0 if the run without faults has it.
	Run int
	// Faults is how many faults its plan had; the plan of the Outcome has only the ones that are needed.
	Faults int
	// Tries is how many runs it took to take the others out.
	Tries   int
	Outcome *Outcome
}

// search is what the runs of a search have in common.
type search struct {
	scene
	seed     uint64
	base     *Outcome // the run without faults
	mu       sync.Mutex
	twins    map[string]*twin
	tried    coverage
	corpus   []*Outcome
	report   Report
	deadline time.Time
}

// A twin is made once.
type twin struct {
	once    sync.Once
	outcome *Outcome
	err     error
}

// round is how many runs are made before their results are looked at.
const round = 32

// newSearch makes the run without faults: twice if processes read kinds that they do not watch.
func newSearch(o Options, scenario func(*Run), seed uint64) (*search, error) {
	if scenario == nil {
		return nil, errors.New("hunt: no scenario")
	}
	h := &search{scene: scene{options: o.withDefaults(), scenario: scenario, given: &objectNames{}}, seed: seed, twins: map[string]*twin{}, tried: newCoverage()}
	if len(o.Lab.Controllers) > 0 {
		return nil, errors.New("hunt: Options.Lab.Controllers would be shared by all runs: use Options.Controllers")
	}
	for {
		careful := h.scene
		careful.options.watchCaches = true
		out, err := careful.play(Plan{Seed: seed}, nil)
		if err != nil {
			return nil, err
		}
		if len(out.reads) == 0 {
			h.base, h.report.NotModelled, h.report.Idle, h.report.RealClock = out, out.uses, out.idle, out.realClock
			return h, h.prepare()
		}
		h.known = h.known.with(out.reads)
	}
}

// prepare makes what all labs begin with, once.
func (h *search) prepare() error {
	o := h.options.labOptions(h.seed)
	o.Quiet = true
	return caught(func() { h.labs = labtest.Prepare(failing{}, o) })
}

// Search looks for plans that fail, and takes out of them what is not needed. It ends after the
// round of runs that found something. The error is that of a scenario that cannot be set up, whose
// runs differ without faults, or in which nothing is tried: without a process, or with one whose controllers
// reconcile nothing in the run without faults.
func Search(o Options, scenario func(*Run)) (*Report, error) {
	h, err := newSearch(o, scenario, o.Seed)
	if err != nil {
		return nil, err
	}
	if err := h.base.untried(); err != nil {
		return nil, err
	}
	if o.Time > 0 {
		h.deadline = time.Now().Add(o.Time)
	}
	if len(h.base.Findings) > 0 {
		for _, f := range h.base.Findings {
			h.report.Failures = append(h.report.Failures, Failure{Finding: f, Outcome: h.base})
		}
		return &h.report, nil
	}
	if err := h.checkRepeats(); err != nil {
		return nil, err
	}
	h.sees(h.base)
	err = h.run()
	h.report.Sites, h.report.Untouched, h.report.Faults = len(h.tried.reached), h.tried.untouched(), h.tried.kinds(h.base)
	return &h.report, err
}

// checkRepeats refuses a scenario whose runs differ.
func (h *search) checkRepeats() error {
	again, err := h.scene.play(Plan{Seed: h.seed}, nil)
	if err != nil {
		return err
	}
	for i, line := range h.base.Story {
		if i >= len(again.Story) || line != again.Story[i] {
			return errors.New("hunt: two runs without faults differ, is there a goroutine, a random number or a global variable? From here on: " + line.String())
		}
	}
	return nil
}

// run makes the phases, one after another.
func (h *search) run() error {
	for _, p := range systematic(h.base) {
		for plans := range slices.Chunk(p.plans, round) {
			if stop, err := h.round(p.name, plans); stop || err != nil {
				return err
			}
		}
	}
	draws := newDraws(h.options, h.base)
	for {
		if stop, err := h.round("random", draws.plans(h.corpus, round)); stop || err != nil {
			return err
		}
	}
}

// round carries out plans and looks at what came of them, in order. It reports whether the search is
// over.
func (h *search) round(phase string, plans []Plan) (stop bool, err error) {
	plans = plans[:min(len(plans), h.options.Runs-h.report.Runs)]
	if len(plans) == 0 {
		h.report.Ended = true
		return true, nil
	}
	if !h.deadline.IsZero() && h.report.Runs > 0 && time.Now().After(h.deadline) {
		return true, nil
	}
	outcomes, err := h.playAll(plans)
	if err != nil {
		return true, err
	}
	p := h.phase(phase)
	p.Planned += len(plans)
	for _, out := range outcomes {
		h.report.Runs++
		p.Done++
		h.report.Missed += len(out.Missed)
		if h.sees(out) {
			p.News++
		}
		if len(out.Findings) > 0 {
			h.found(out)
		}
	}
	return len(h.report.Failures) > 0, nil
}

func (h *search) phase(name string) *Phase {
	if n := len(h.report.Phases); n == 0 || h.report.Phases[n-1].Name != name {
		h.report.Phases = append(h.report.Phases, Phase{Name: name})
	}
	return &h.report.Phases[len(h.report.Phases)-1]
}

// sees takes in the sites of a run. It reports whether one is new, and keeps such runs to be extended.
func (h *search) sees(out *Outcome) (news bool) {
	if news = h.tried.sees(out); news {
		h.corpus = append(h.corpus, out)
	}
	return news
}

// found takes in a run that failed, unless the same is known.
func (h *search) found(out *Outcome) {
	first := out.Findings[0]
	for _, f := range h.report.Failures {
		if f.Check == first.Check && f.Kind == first.Kind {
			return
		}
	}
	f := Failure{Finding: first, Run: h.report.Runs, Faults: len(out.Plan.Faults), Outcome: out}
	h.shrink(&f)
	h.report.Failures = append(h.report.Failures, f)
}

// playAll carries out plans at the same time.
func (h *search) playAll(plans []Plan) ([]*Outcome, error) {
	outcomes, errs := make([]*Outcome, len(plans)), make([]error, len(plans))
	next := make(chan int)
	var all sync.WaitGroup
	for range min(h.options.Workers, len(plans)) {
		all.Go(func() {
			for i := range next {
				outcomes[i], errs[i] = h.play(plans[i])
			}
		})
	}
	for i := range plans {
		next <- i
	}
	close(next)
	all.Wait()
	return outcomes, errors.Join(errs...)
}

// play carries out a plan.
func (h *search) play(p Plan) (*Outcome, error) {
	return h.scene.play(p, func(users []Fault) (*Outcome, error) {
		if p.steps() {
			users = slices.DeleteFunc(slices.Clone(p.Faults), Fault.ofProcess)
		}
		return h.twinOf(p.Seed, users)
	})
}

// twinOf returns the outcome without faults of processes.
func (h *search) twinOf(seed uint64, users []Fault) (*Outcome, error) {
	if len(users) == 0 && seed == h.seed {
		return h.base, nil
	}
	h.mu.Lock()
	key := fmt.Sprint(seed, users)
	for _, f := range users {
		key += fmt.Sprint(" ", f.steps)
	}
	t := h.twins[key]
	if t == nil {
		t = &twin{}
		h.twins[key] = t
		h.report.Twins++
	}
	h.mu.Unlock()
	t.once.Do(func() { t.outcome, t.err = h.scene.play(Plan{seed, users}, nil) })
	return t.outcome, t.err
}

// atRest returns a fault without what does not matter when nothing else happens.
func (f Fault) atRest() Fault {
	switch f.Do {
	case Recreate, Delete:
		f.At = Site{}
	case Touch:
		f.At = Site{Process: f.At.Process, Controller: f.At.Controller, Key: f.At.Key}
	case Kill, StopNode, RemoveNode, FailPod:
		f.At = Site{Key: f.At.Key, Kind: f.At.Kind}
	}
	return f
}
