package scheduling

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A fitError is that a Pod fits on no Node.
type fitError struct {
	reasons      map[string]int // and on how many Nodes each holds
	unresolvable int            // Nodes on which preemption would not help
	preFilter    string         // why no Node was even looked at; "" if they were
}

func (e *fitError) Error() string { return "the pod fits on no node" }

// count adds what a filter said of one Node; times is -1 to take it away.
func (e *fitError) count(s Status, times int) {
	for _, reason := range s.Reasons {
		e.reasons[reason] += times
	}
	if s.Unresolvable && !s.Fits() {
		e.unresolvable += times
	}
}

const notHelpful = "Preemption is not helpful for scheduling"

// message is what kube-scheduler writes into the condition PodScheduled, for a number of Nodes.
func (e *fitError) message(nodes int) string {
	if nodes == 0 {
		return "no nodes available to schedule pods"
	}
	intro := fmt.Sprintf("0/%d nodes are available:", nodes)
	const noClaims = "no new claims to deallocate, preemption:"
	if e.preFilter != "" {
		return fmt.Sprintf("%s %s. %s %s %d %s.", intro, e.preFilter, noClaims, intro, nodes, notHelpful)
	}
	preemption := map[string]int{"No preemption victims found for incoming pod": nodes - e.unresolvable, notHelpful: e.unresolvable}
	return fmt.Sprintf("%s %s. %s %s %s.", intro, histogram(e.reasons), noClaims, intro, histogram(preemption))
}

// histogram prints reasons with their counts, sorted as text.
func histogram(reasons map[string]int) string {
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		if n := reasons[reason]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, reason))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
