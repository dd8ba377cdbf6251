package scheduling

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// fitMessage is the message of kube-scheduler in the condition PodScheduled of a Pod that fits on
// no Node. It ends with the reasons of PostFilters.
func (c *Cycle) fitMessage(postFilter []string) string {
	if len(c.Nodes) == 0 {
		return "no nodes available to schedule pods"
	}
	message := noNodeAvailable(len(c.Nodes))
	if c.early {
		message += " " + strings.Join(c.absent.Reasons, ", ") + "."
	} else {
		message += histogram(len(c.Nodes)-c.rejected, c.statuses, c.absent)
	}
	if len(postFilter) > 0 {
		message += " " + strings.Join(postFilter, ", ")
	}
	return message
}

func noNodeAvailable(nodes int) string { return fmt.Sprintf("0/%d nodes are available:", nodes) }

// histogram prints the reasons of Nodes with their counts, sorted as text. The Nodes that are missing
// among the statuses have the reason absent.
func histogram(missing int, statuses []Status, absent Status) string {
	counts := map[string]int{}
	for _, s := range statuses {
		for _, reason := range s.Reasons {
			counts[reason]++
		}
	}
	if missing > 0 {
		for _, reason := range absent.Reasons {
			counts[reason] += missing
		}
	}
	var parts []string
	for reason := range maps.Keys(counts) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[reason], reason))
	}
	if len(parts) == 0 {
		return ""
	}
	slices.Sort(parts)
	return " " + strings.Join(parts, ", ") + "."
}
