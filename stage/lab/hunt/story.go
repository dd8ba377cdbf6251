package hunt

import (
	"fmt"
	"slices"
	"strings"
)

// maxStory is how many lines of a story are printed.
const maxStory = 80

// String prints the failure: what was found, the plan, the story, and where it ends differently. It
// is a file that -hunt.replay plays.
func (f Failure) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s (%s)\n", f.Check, f.Kind)
	switch {
	case len(f.Outcome.Plan.Faults) == 0:
		fmt.Fprintf(&b, "# It fails without faults.\n")
	case f.Tries > 0:
		fmt.Fprintf(&b, "# Found in run %d; shrunk from %d to %d faults in %d tries.\n", f.Run, f.Faults, len(f.Outcome.Plan.Faults), f.Tries)
	}
	if len(f.Outcome.Plan.Faults) > 0 {
		fmt.Fprintf(&b, "# Its twin is the same run without the faults of processes: what users do is done there while all is at rest.\n")
	}
	for line := range strings.Lines(f.Text) {
		fmt.Fprintf(&b, "#   %s\n", strings.TrimSpace(line))
	}
	fmt.Fprintf(&b, "%s-- story --\n", f.Outcome.Plan)
	for _, line := range told(f.Outcome.Story) {
		fmt.Fprintf(&b, "%s\n", line)
	}
	if f.Check == checkEnd && len(f.Outcome.TwinStory) > 0 {
		fmt.Fprintf(&b, "-- the twin, from its first write that is missing above --\n")
		for _, line := range told(f.Outcome.TwinStory) {
			fmt.Fprintf(&b, "%s\n", line)
		}
	}
	return b.String()
}

// told returns the lines to print: what is said repeatedly once, and not too much.
func told(story []Line) (lines []string) {
	said, again := map[string]bool{}, 0
	for _, l := range story {
		key := l.Who + l.Text
		if said[key] && !slices.Contains([]string{"user", whoHunt, whoFault}, l.Who) {
			again++
			continue
		}
		said[key] = true
		lines = append(lines, l.String())
	}
	if len(lines) > maxStory {
		lines = append(lines[:maxStory], fmt.Sprintf("… %d more lines", len(lines)-maxStory))
	}
	if again > 0 {
		lines = append(lines, fmt.Sprintf("(%d lines that repeat an earlier one are left out; -hunt.replay prints them)", again))
	}
	return lines
}

// texts returns all lines.
func texts(story []Line) []string {
	lines := make([]string, len(story))
	for i, l := range story {
		lines[i] = l.String()
	}
	return lines
}

// String prints how far a search came.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d runs, %d twins beside, %d faults struck nothing", r.Runs, r.Twins, r.Missed)
	for _, p := range r.Phases {
		fmt.Fprintf(&b, "\n  %-20s %d runs, %d reached a site for the first time", p.Name, p.Done, p.News)
	}
	r.writeCoverage(&b)
	for _, controller := range r.Idle {
		fmt.Fprintf(&b, "\n  not tried, nothing to reconcile: %s", controller)
	}
	if r.RealClock != "" {
		fmt.Fprintf(&b, "\n  %s", r.RealClock)
	}
	for _, u := range r.NotModelled {
		fmt.Fprintf(&b, "\n  the lab does not model: %s", u)
	}
	return b.String()
}
