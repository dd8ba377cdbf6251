package staged

import (
	"cmp"
	"slices"

	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// DeletionPolicy returns what happens to the workload when the StagedBindingPolicy is deleted; "": what
// the garbage collector does. With a deletion policy the object carries [v1alpha1.Finalizer], and
// placements have no owner references, so that no deletion of the object removes them by itself.
func (p *Policy) DeletionPolicy() v1alpha1.DeletionPolicy {
	spec := &p.object.Spec
	if p.stagesUpdates() {
		return cmp.Or(spec.DeletionPolicy, v1alpha1.Orphan)
	}
	return spec.DeletionPolicy
}

// end does what the deletion policy says about a StagedBindingPolicy that is being deleted. The
// finalizer stays until that is done, or a person abandons it.
func (d *decider) end() {
	if !slices.Contains(d.meta.Finalizers, v1alpha1.Finalizer) || d.meta.Annotations[v1alpha1.AbandonAnnotation] == "true" {
		return
	}
	d.disown()
	waits := slices.Clone(d.Disown)
	if d.policy.DeletionPolicy() == v1alpha1.Delete {
		waits = d.removeLast()
	}
	if d.Finalizer = len(waits) > 0; d.Finalizer {
		d.stall("Deleting", "is being deleted: waits for %s; the annotation %s: \"true\" ends the wait", firstOf(waits, ", "), v1alpha1.AbandonAnnotation)
		d.setConditions()
	}
}

// disown takes the owner references off the placements of a policy that has a finalizer.
func (d *decider) disown() {
	for _, name := range sortedKeys(d.placed) {
		if p := d.placed[name]; p.Owned && !p.Taken && !p.Ending {
			d.Disown = append(d.Disown, name)
		}
	}
}

// removeLast removes the placements of the last stage that has any, and returns their names.
func (d *decider) removeLast() (names []string) {
	last := -1
	for name, p := range d.placed {
		if i, _ := d.stageOf(name); !p.Taken && i > last {
			last = i
		}
	}
	for _, name := range sortedKeys(d.placed) {
		p := d.placed[name]
		if i, _ := d.stageOf(name); p.Taken || i >= 0 && i < last {
			continue
		}
		if names = append(names, name); !p.Ending {
			d.Remove = append(d.Remove, d.removals(p)...)
		}
	}
	return names
}

// removals returns what to remove for a placement: its own name, or, where each cluster has
// its own object, their names.
func (d *decider) removals(p *fleet.Placement) (names []string) {
	if !d.seen.Can.OldRevision {
		return []string{p.Name}
	}
	for _, cluster := range p.Has {
		names = append(names, p.Name+"/"+cluster)
	}
	return names
}
