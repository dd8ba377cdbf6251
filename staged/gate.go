package staged

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// conflict says that somebody else places the same objects in one of these clusters; "" if no placement
// does, or this policy was there first.
func (d *decider) conflict(clusters []string) string {
	for _, c := range d.conflicts {
		both := slices.DeleteFunc(slices.Clone(c.Clusters), func(name string) bool { return !slices.Contains(clusters, name) })
		if len(both) > 0 && !c.First {
			return fmt.Sprintf("%s places the same objects in %s", c.Owner, firstOf(both, ", "))
		}
	}
	return ""
}

// readConflicts finds the conflicts that matter: in clusters that the policy holds, or will place
// something in.
func (d *decider) readConflicts() {
	for _, c := range d.seen.Conflicts {
		c.Clusters = slices.DeleteFunc(slices.Clone(c.Clusters), func(name string) bool { return !d.isHeld(name) && d.isPassed(name) })
		if len(c.Clusters) > 0 {
			d.conflicts = append(d.conflicts, c)
		}
	}
}

// contested is conflict for clusters that no placement of this policy holds yet: nothing is placed there.
func (d *decider) contested(clusters []string) string {
	return d.conflict(slices.DeleteFunc(slices.Clone(clusters), d.isHeld))
}

// noteConflicts says who else places the same objects in the same clusters. The policy that was there
// first goes on; the newcomer is stalled.
func (d *decider) noteConflicts() {
	d.Status.Conflicts = d.conflicts
	for _, c := range d.conflicts {
		why := fmt.Sprintf("%s places the same objects in %s", c.Owner, firstOf(c.Clusters, ", "))
		d.explain(d.Status.ActiveStage, why)
		switch {
		case c.First:
			d.Message += "; warning: " + why
		case d.stalled != "Conflict":
			d.done = false
			d.stall("Conflict", "%s: %s", d.Message, why)
		}
	}
}

// closedGate says which object of the hub a stage waits for; "" if all its gates are open.
func (d *decider) closedGate(i int) string {
	s := d.policy.stages[i]
	for n, gate := range s.Gates {
		object, read := map[string]any(nil), false
		for _, g := range d.seen.Gates {
			if g.Stage == s.Name && g.Name == gate.Name {
				object, read = g.Object, true
			}
		}
		name := fmt.Sprintf("gate %q: %s %s", gate.Name, gate.Kind, strings.TrimPrefix(gate.Namespace+"/"+gate.ObjectName, "/"))
		switch {
		case !read:
			return "waits for " + name + ", and nobody reads objects of this kind"
		case object == nil:
			return "waits for " + name + ", which does not exist"
		case !d.isOfThisRevision(i, object):
			return fmt.Sprintf("waits for %s of %s: the one that exists does not name the revision, and is older than its delivery", name, d.revisionName(fleet.RevisionID(d.Status.Wanted)))
		}
		if f := evaluate(s.gates[n], map[string]any{"object": object}); f.Satisfaction != Satisfied {
			if f.reason == "" {
				f.reason = "not true: " + gate.Condition
			}
			return "waits for " + name + ": " + f.reason
		}
	}
	return ""
}

// isOfThisRevision reports whether the object of a gate names the wanted revision, or was created
// after the clusters of the stage had the revision.
func (d *decider) isOfThisRevision(i int, object map[string]any) bool {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if name, _ := annotations[v1alpha1.RevisionAnnotation].(string); name != "" {
		return d.isWanted(name)
	}
	text, _ := metadata["creationTimestamp"].(string)
	created, err := time.Parse(time.RFC3339, text)
	since := d.Status.Stages[i].SatisfiedSince
	return err == nil && since != nil && !created.Before(since.Time)
}
