package hunt

import (
	"fmt"
	"slices"
	"strings"
)

// A Struck is how often a kind of fault was tried.
type Struck struct {
	// Do is the fault, such as [CrashAfter].
	Do string
	// Count is how many faults of the kind struck, Missed how many did not, because their sites did not occur.
	Count, Missed int
	// Impossible says why none can strike in the scenario; "" if it can.
	Impossible string
}

// kindsOfFaults are all faults, in the order of their constants, each with what a scenario must have so that
// it can strike.
var kindsOfFaults = []struct {
	do    string
	needs func(base *Outcome) string
}{
	{CrashBefore, needsWrite}, {CrashAfter, needsWrite}, {Lose, needsWrite}, {Refuse, needsWrite}, {Touch, needsWrite},
	{Lag, needsEvent}, {Relist, needsEvent}, {Kill, needsEvent},
	{Step, needsStep}, {Recreate, needsObject}, {Delete, needsObject},
	{Pause, needsReplicas}, {Overlap, needsReplicas},
	{Slow, needsEvent}, {StopNode, needsPod}, {RemoveNode, needsPod}, {FailPod, needsPod},
	{Skew, needsClock},
}

func needsWrite(base *Outcome) string {
	return unless(slices.ContainsFunc(base.Sites, Site.IsWrite), "no controller writes")
}

func needsEvent(base *Outcome) string {
	return unless(slices.ContainsFunc(base.Sites, func(s Site) bool { return !s.IsWrite() }), "no process watches a kind that changes")
}

func needsStep(base *Outcome) string {
	return unless(base.steps > 0, "the users take no step: see Run.At")
}

func needsObject(base *Outcome) string {
	return unless(base.applied > 0, "the users apply nothing: see Run.Apply")
}

func needsReplicas(base *Outcome) string {
	return unless(len(base.elected) > 0, "no process has replicas: see Run.Replicas")
}

func needsPod(base *Outcome) string {
	_, events := sitesOf(base.Sites)
	return unless(len(ofPods(events)) > 0, "no process watches Pods")
}

func needsClock(base *Outcome) string {
	return unless(base.clocked || len(base.elected) > 0, "no process asks for the time: see Process.Now")
}

func unless(holds bool, text string) string {
	if holds {
		return ""
	}
	return text
}

// A coverage counts what a search has tried.
type coverage struct {
	reached []Site // each once, up to its third time
	struck  map[Site]bool
	faults  map[string]*Struck
}

func newCoverage() coverage {
	return coverage{struck: map[Site]bool{}, faults: map[string]*Struck{}}
}

// sees takes in a run. It reports whether it reached a site for the first time.
func (c *coverage) sees(out *Outcome) (news bool) {
	for _, s := range out.Sites {
		s = s.upToThird()
		if _, known := c.struck[s]; !known {
			c.reached, c.struck[s], news = append(c.reached, s), false, true
		}
	}
	for _, f := range out.Plan.Faults {
		counted := c.faults[f.Do]
		if counted == nil {
			counted = &Struck{Do: f.Do}
			c.faults[f.Do] = counted
		}
		if slices.Contains(out.Missed, f) {
			counted.Missed++
			continue
		}
		counted.Count++
		c.struck[f.At.upToThird()] = true
	}
	return news
}

// upToThird takes the fourth time, and each after it, for the third.
func (s Site) upToThird() Site {
	s.Nth = min(s.Nth, 3)
	return s
}

// untouched returns the sites at which no fault struck.
func (c *coverage) untouched() []Site {
	return slices.DeleteFunc(slices.Clone(c.reached), func(s Site) bool { return c.struck[s] })
}

// kinds returns all faults, with what came of them.
func (c *coverage) kinds(base *Outcome) []Struck {
	all := make([]Struck, len(kindsOfFaults))
	for i, k := range kindsOfFaults {
		all[i].Do = k.do
		if counted := c.faults[k.do]; counted != nil {
			all[i] = *counted
		}
		if all[i].Count == 0 {
			all[i].Impossible = k.needs(base)
		}
	}
	return all
}

// maxUntouched is how many sites without a fault are printed.
const maxUntouched = 5

// writeCoverage prints what was tried, and what was not.
func (r *Report) writeCoverage(b *strings.Builder) {
	if len(r.Faults) == 0 { // it fails without faults
		return
	}
	fmt.Fprintf(b, "\n  sites: %d reached, a fault struck at %d", r.Sites, r.Sites-len(r.Untouched))
	for i, s := range r.Untouched {
		if i == maxUntouched {
			fmt.Fprintf(b, "\n    and %d more", len(r.Untouched)-i)
			break
		}
		fmt.Fprintf(b, "\n    no fault struck at: %s", s)
	}
	struck := slices.DeleteFunc(slices.Clone(r.Faults), func(s Struck) bool { return s.Count == 0 })
	fmt.Fprintf(b, "\n  faults: %d kinds of %d struck", len(struck), len(r.Faults))
	for _, f := range r.Faults {
		if f.Count == 0 {
			fmt.Fprintf(b, "\n    never %s: %s", f.Do, f.whyNever())
		}
	}
}

func (s Struck) whyNever() string {
	switch {
	case s.Impossible != "":
		return s.Impossible
	case s.Missed > 0:
		return fmt.Sprintf("%d were planned, at sites that did not occur", s.Missed)
	}
	return "the runs were too few"
}
