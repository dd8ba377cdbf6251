package hunt

import (
	"math/rand/v2"
	"slices"
	"time"
)

// A phase is what is tried in order.
type phase struct {
	name  string
	plans []Plan
}

// systematic returns plans with one fault for each site of the run without faults.
func systematic(base *Outcome) []phase {
	writes, events := sitesOf(base.Sites)
	before, eventsBefore := sitesOf(base.Sites[:base.judged])
	one := func(name string, sites []Site, faults ...Fault) phase {
		p := phase{name: name}
		for _, s := range sites {
			for _, f := range faults {
				f.At = s
				p.plans = append(p.plans, Plan{base.Plan.Seed, []Fault{f}})
			}
		}
		return p
	}
	phases := []phase{
		one("crashes", writes, Fault{Do: CrashAfter}, Fault{Do: CrashBefore}, Fault{Do: Lose}),
		one("lags", events, Fault{Do: Lag}, Fault{Do: Relist}),
		one("refusals", writes, Fault{Do: Refuse}, Fault{Do: Refuse, Code: 409}, Fault{Do: Refuse, Code: 429, Times: 3}),
		one("users", before, Fault{Do: Recreate}, Fault{Do: Delete}, Fault{Do: Touch}, Fault{Do: Step}, Fault{Do: Step, Number: 2}),
		one("longer lags", events, Fault{Do: Lag, For: time.Second}, Fault{Do: Lag, For: 3 * time.Minute}),
		one("deletions by others", eventsBefore, Fault{Do: Kill}),
		together(base, before),
	}
	phases = append(phases,
		one("other deletions", before, Fault{Do: Delete, Policy: "foreground"}, Fault{Do: Delete, Policy: "orphan"}, Fault{Do: Recreate, Policy: "foreground"}),
		one("slow watches", events, Fault{Do: Slow}),
		one("Pods and Nodes", ofPods(eventsBefore), Fault{Do: FailPod}, Fault{Do: StopNode}, Fault{Do: RemoveNode}))
	if of := ofContainers(writes); len(of) > 0 {
		phases = append(phases, one("requests for containers", of, Fault{Do: Lose, For: 2 * time.Minute}, Fault{Do: Refuse, Times: 5}), one("old usage", ofUsage(of), Fault{Do: Lag}, Fault{Do: Lag, For: 10 * time.Minute}))
	}
	if base.clocked || len(base.elected) > 0 {
		phases = append(phases, one("clocks", events, Fault{Do: Skew}, Fault{Do: Skew, By: -time.Minute}))
	}
	if led := base.ledOf(writes); len(led) > 0 {
		phases = append(phases, one("leaders", led, Fault{Do: Pause}, Fault{Do: Overlap}, Fault{Do: CrashAfter, For: time.Minute}))
	}
	return phases
}

// ofPods returns the events of Pods.
func ofPods(events []Site) []Site {
	return slices.DeleteFunc(slices.Clone(events), func(s Site) bool { return s.Kind != pods.Kind || s.Verb == "DELETED" })
}

// ofContainers returns the requests for containers.
func ofContainers(sites []Site) []Site {
	return slices.DeleteFunc(slices.Clone(sites), func(s Site) bool { return !s.isOfContainers() })
}

// ofUsage returns the reads of usage.
func ofUsage(sites []Site) []Site {
	return slices.DeleteFunc(slices.Clone(sites), func(s Site) bool { return s.Verb != usageVerb })
}

// ledOf returns the sites of processes with leader election.
func (o *Outcome) ledOf(sites []Site) (led []Site) {
	for _, s := range sites {
		if slices.Contains(o.elected, s.Process) {
			led = append(led, s)
		}
	}
	return led
}

// together has users act and the process crash at the same write.
func together(base *Outcome, writes []Site) phase {
	p := phase{name: "users and crashes"}
	for _, s := range writes {
		for _, user := range []string{Delete, Recreate, Step} {
			for _, crash := range []string{CrashBefore, CrashAfter} {
				p.plans = append(p.plans, Plan{base.Plan.Seed, []Fault{{Do: user, At: s}, {Do: crash, At: s, For: 10 * time.Second}}})
			}
		}
	}
	return p
}

// sitesOf returns sites, each once.
func sitesOf(sites []Site) (writes, events []Site) {
	seen := map[Site]bool{}
	for _, s := range sites {
		switch {
		case seen[s]:
			continue
		case s.IsWrite():
			writes = append(writes, s)
		default:
			events = append(events, s)
		}
		seen[s] = true
	}
	return writes, events
}

// draws makes plans by chance.
type draws struct {
	options Options
	random  *rand.Rand
	base    *Outcome
}

func newDraws(o Options, base *Outcome) *draws {
	return &draws{o, rand.New(rand.NewPCG(o.Seed, 0x68756e74)), base}
}

// plans returns plans that add faults to runs that have reached something new.
func (d *draws) plans(corpus []*Outcome, n int) (plans []Plan) {
	for range n {
		parent := d.base
		if d.random.IntN(4) > 0 {
			parent = corpus[d.random.IntN(len(corpus))]
		}
		plan := Plan{Seed: parent.Plan.Seed, Faults: slices.Clone(parent.Plan.Faults)}
		if len(plan.Faults) > 4 {
			i := d.random.IntN(len(plan.Faults))
			plan.Faults = slices.Delete(plan.Faults, i, i+1)
		}
		for len(plan.Faults) < 2 || d.random.IntN(3) == 0 {
			plan.Faults = append(plan.Faults, d.fault(parent, plan.Faults))
		}
		plans = append(plans, plan)
	}
	return plans
}

// fault draws a fault at a site of a run, often near one of its faults.
func (d *draws) fault(parent *Outcome, others []Fault) Fault {
	i := d.random.IntN(len(parent.Sites))
	if len(others) > 0 && d.random.IntN(2) == 0 {
		near := slices.Index(parent.Sites, others[d.random.IntN(len(others))].At)
		if near >= 0 {
			i = min(max(near+d.random.IntN(9)-2, 0), len(parent.Sites)-1)
		}
	}
	return d.at(parent.Sites[i])
}

// at draws what happens at a site.
func (d *draws) at(s Site) Fault {
	f := Fault{At: s}
	if !s.IsWrite() {
		f.Do = []string{Lag, Lag, Relist, Relist, Kill, Step, Recreate, Delete}[d.random.IntN(8)]
	} else {
		f.Do = []string{CrashBefore, CrashAfter, CrashAfter, Lose, Refuse, Touch, Step, Recreate, Delete}[d.random.IntN(9)]
	}
	if led := s.IsWrite() && slices.Contains(d.base.elected, s.Process); led && d.random.IntN(3) == 0 {
		f.Do = []string{Pause, Overlap}[d.random.IntN(2)]
	} else if d.base.clocked && d.random.IntN(8) == 0 {
		f.Do, f.By = Skew, time.Duration(d.random.IntN(5)-2)*time.Minute
	}
	if !s.IsWrite() && d.random.IntN(6) == 0 {
		f.Do = Slow
		if len(ofPods([]Site{s})) > 0 {
			f.Do = []string{Slow, FailPod, StopNode, RemoveNode}[d.random.IntN(4)]
		}
	}
	if s.isOfContainers() && d.random.IntN(4) == 0 {
		f.Do, f.For = Lose, []time.Duration{time.Second, time.Minute, 10 * time.Minute}[d.random.IntN(3)]
		if s.Verb == usageVerb {
			f.Do = Lag
		}
		return f
	}
	switch f.Do {
	case Lag, Relist, Slow, CrashBefore, CrashAfter, Pause, Overlap, Skew:
		f.For = []time.Duration{0, time.Second, 10 * time.Second, time.Minute, 2 * time.Minute}[d.random.IntN(5)]
		if d.options.TimeTravel && (f.Do == CrashBefore || f.Do == CrashAfter) && d.random.IntN(2) == 0 {
			f.Behind = 1 + d.random.IntN(8)
		}
	case Refuse:
		f.Code, f.Times = []int{0, 409, 429, 503, 504}[d.random.IntN(5)], d.random.IntN(4)
	case Step, Recreate, Delete:
		f.Number = d.random.IntN(3)
		if f.Do != Step && d.random.IntN(4) == 0 {
			f.Policy = []string{"foreground", "orphan"}[d.random.IntN(2)]
		}
	}
	return f
}
