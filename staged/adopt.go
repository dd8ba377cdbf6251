package staged

import (
	"fmt"
	"slices"

	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// An adoption is a placement of a user that still exists and that a stage takes over.
type adoption struct {
	v1alpha1.Adoption
	of    *fleet.Placement
	stage int
}

func (d *decider) adoptions() (all []adoption) {
	for _, a := range d.policy.object.Spec.Adopt {
		of := slices.IndexFunc(d.seen.Adopted, func(p fleet.Placement) bool { return p.Name == a.BindingPolicy })
		stage := d.policy.index(a.Stage)
		if of >= 0 && stage >= 0 {
			all = append(all, adoption{a, &d.seen.Adopted[of], stage})
		}
	}
	return all
}

// adopting says what the start of a stage waits for, because the stage takes over what a user has
// placed; "": nothing.
func (d *decider) adopting(i int) string {
	for _, a := range d.adoptions() {
		if a.stage == i {
			text, _ := d.adoption(a)
			return text
		}
	}
	return ""
}

// noteAdoptions says what adoptions wait for, and removes what the policy releases, once this policy
// holds all of it.
func (d *decider) noteAdoptions() {
	for _, a := range d.adoptions() {
		text, complete := d.adoption(a)
		if d.explain(a.Stage, text); complete && a.Release {
			d.Remove = append(d.Remove, a.BindingPolicy)
		}
		if a.stage != d.active()+1 { // the stage that starts next says it by itself
			d.Message += "; " + text
		}
	}
}

// adoption says what an adoption waits for. It is complete if the stage holds every cluster and object
// of the user's placement. No text asks for its removal before that.
func (d *decider) adoption(a adoption) (text string, complete bool) {
	foreign, waiting, objects := d.uncoveredOf(a)
	what := fmt.Sprintf("stage %q takes over %s %s", a.Stage, d.kind(), a.BindingPolicy)
	switch {
	case a.of.Ending, !a.of.Ready:
		return what + ": waits for it to be bound, or to be gone", false
	case len(foreign) > 0:
		return fmt.Sprintf("%s, which also holds %s: let the stage select them by clusterSelectors, and label each %s=<its name>, so that they keep the workload",
			what, firstOf(foreign, ", "), d.policy.clusterLabel), false
	case len(waiting) > 0:
		return fmt.Sprintf("%s: waits until %s holds %s", what, d.policy.stages[a.stage].full, firstOf(waiting, ", ")), false
	case len(objects) > 0:
		return fmt.Sprintf("%s, which also brings %s: let spec.downsync choose them, so that clusters keep them", what, firstOf(objects, ", ")), false
	case a.Release:
		return what + ", and deletes it now, since the stage holds all of its clusters and objects", true
	}
	return fmt.Sprintf("%s, and holds all of its clusters and objects: now delete it (kubectl delete bindingpolicy %s), or say release: true", what, a.BindingPolicy), true
}

// uncoveredOf returns what would be lost without a user's placement: clusters that the
// stage cannot hold, clusters that it does not hold yet, and objects.
func (d *decider) uncoveredOf(a adoption) (foreign, waiting, objects []string) {
	s, mine := d.policy.stages[a.stage], map[fleet.ObjectRef]bool{}
	for _, c := range a.of.Has {
		have, exists := d.clusters[c]
		holder := slices.IndexFunc(d.holders[c], func(name string) bool { return d.isCurrent(name) && d.placed[name].Ready })
		switch {
		case d.clusters != nil && !exists:
		case !s.selects(have) || have[d.policy.clusterLabel] != c:
			foreign = append(foreign, c)
		case holder < 0:
			waiting = append(waiting, c)
		default:
			for _, o := range d.placed[d.holders[c][holder]].Objects {
				mine[o.Ref()] = true
			}
		}
	}
	for _, o := range a.of.Objects {
		if !mine[o.Ref()] {
			objects = append(objects, o.Ref().String())
		}
	}
	return foreign, waiting, objects
}

// placeAdopted holds, for stages whose turn has not come, the clusters of users' placements. Clusters
// keep what they have.
func (d *decider) placeAdopted() {
	for _, a := range d.adoptions() {
		s, seen := d.policy.stages[a.stage], d.placed[d.policy.stages[a.stage].full]
		if d.Status.Stages[a.stage].Phase != v1alpha1.Pending || seen != nil && (seen.Taken || seen.Clusters == nil) {
			continue
		}
		p := fleet.Placement{Name: s.full, Stage: s.Name, Revision: fleet.RevisionID(d.Status.Wanted), Hold: true}
		if seen != nil {
			p.Clusters = slices.Clone(seen.Clusters)
		}
		for _, c := range a.of.Has {
			if have := d.clusters[c]; have != nil && s.selects(have) && have[d.policy.clusterLabel] == c {
				p.Clusters = append(p.Clusters, c)
			}
		}
		slices.Sort(p.Clusters)
		if p.Clusters = slices.Compact(p.Clusters); len(p.Clusters) > 0 {
			d.Place = append(d.Place, d.versioned(p))
		}
	}
}
