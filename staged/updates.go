package staged

import (
	"cmp"
	"slices"

	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// frozen returns clauses that never update an object that a cluster has.
func frozen(clauses []control.DownsyncPolicyClause) []control.DownsyncPolicyClause {
	clauses = slices.Clone(clauses)
	for i := range clauses {
		clauses[i].CreateOnly = true
	}
	return clauses
}

// updates checks what staged updates cannot stand beside.
func (c *compiler) updates() {
	spec := c.definition.policy.Spec
	if spec.Updates != v1alpha1.Staged {
		return
	}
	for i, clause := range spec.Downsync {
		path := position.Index("spec.downsync", i)
		if clause.CreateOnly {
			c.faultf(path+".createOnly", "with updates: Staged it is set until the turn of a cluster comes, and not by hand")
		}
		if clause.WantSingletonReportedState || clause.WantMultiWECReportedState {
			c.faultf(path, "with updates: Staged no status can be returned into the objects: each would be a new version of the workload")
		}
	}
}

func (p *Policy) stagesUpdates() bool { return p.object.Spec.Updates == v1alpha1.Staged }

// noteWorkload finds out whether there is a new version of the workload. All stages have to be
// passed again then, and keep the version that they have until their turn comes.
func (d *decider) noteWorkload() {
	if !d.policy.stagesUpdates() {
		return
	}
	s, why := &d.Status, ""
	for n := range s.BindingPolicies {
		rec := &s.BindingPolicies[n]
		state := d.observed[rec.Name]
		if state == nil || !state.isBound() || rec.Removing {
			continue
		}
		was := rec.Workload
		rec.Workload = hashOf(versionsOf(state.binding))
		switch {
		case was == rec.Workload:
		case was == "" || state.isThawed():
			rec.Outdated = nil
		default:
			rec.Outdated = rec.Clusters
		}
		if s.Workload == "" {
			s.Workload = rec.Workload
		}
		switch {
		case was != rec.Workload && rec.Workload != s.Workload:
			s.Workload = rec.Workload
			why = "the workload has changed"
		case was == "" && !state.isThawed():
			// Its clusters may have received an older version before anybody looked.
			why = cmp.Or(why, "nobody knows which version the clusters of "+rec.Name+" have")
		}
	}
	if why != "" {
		d.supersede(why)
	}
}

// noteUpdated finds out which clusters have the present version of the workload before their turn:
// their Binding still lets it through, or that of another stage does.
func (d *decider) noteUpdated() {
	for n := range d.Status.BindingPolicies {
		state := d.observed[d.Status.BindingPolicies[n].Name]
		if !d.policy.stagesUpdates() || state == nil || !state.isBound() || !state.isThawed() {
			continue
		}
		for m := range d.Status.BindingPolicies {
			if rec := &d.Status.BindingPolicies[m]; len(rec.Outdated) > 0 && (m != n || d.isOver(rec.Name)) {
				rec.Outdated = without(rec.Outdated, state.destinations())
			}
		}
	}
}

// without returns the names that are not among others; nil if there is none.
func without(names, others []string) (left []string) {
	for _, name := range names {
		if !slices.Contains(others, name) {
			left = append(left, name)
		}
	}
	return left
}

// isOver reports whether the turn of a BindingPolicy is over, or has not come.
func (d *decider) isOver(name string) bool {
	i, n := d.stageOf(name)
	return i < 0 || n >= int(d.Status.Stages[i].StartedBatches) || d.isFrozen(i, n)
}

// supersede makes all stages begin again, because there is a new version of the workload, or nobody
// knows any more which one the clusters have.
func (d *decider) supersede(why string) {
	for j := range d.Status.Stages {
		suspend(&d.Status.Stages[j])
		spend(&d.Status.Stages[j])
	}
	d.event("Normal", "NewWorkload", "%s: beginning with stage %q again", why, d.policy.stages[0].Name)
}

// isSuperseded reports whether the active stage has to begin again with a new version of the
// workload.
func (d *decider) isSuperseded(i int) bool {
	rec := d.Status.Stages[i]
	return d.policy.stagesUpdates() && d.Status.Workload != "" && rec.Phase == v1alpha1.Pending && rec.EnteredAt == nil
}

// isFrozen reports whether the clusters of a stage, or of its n-th batch, stay at the version of
// the workload that they have: all but those that the rollout is at, until they are satisfied.
func (d *decider) isFrozen(i, n int) bool {
	return d.policy.stagesUpdates() && d.hadTurn(i, n) && !d.isBehind(i, n)
}

// isBehind reports whether a batch of the active stage that has begun has yet to be satisfied with
// the present version, although a later one has begun: an edit can make batches of clusters that
// were updated one by one.
func (d *decider) isBehind(i, n int) bool {
	stage := d.Status.Stages[i]
	if i != d.active() || n < 0 || n >= int(stage.StartedBatches) || stage.SatisfiedSince != nil || stage.Phase != v1alpha1.Progressing {
		return false
	}
	rec := d.owned(d.batchName(i, n))
	return d.policy.stages[i].perCluster == nil && rec != nil && len(rec.Outdated) > 0
}

// endTurns records that the clusters of all batches of a stage that have begun are satisfied with
// the present version.
func (d *decider) endTurns(i int) {
	for n := range d.Status.Stages[i].StartedBatches {
		if rec := d.owned(d.batchName(i, int(n))); rec != nil {
			rec.Outdated = nil
		}
	}
}

// hadTurn reports whether the turn of a stage, or of its n-th batch, is over or has not come.
func (d *decider) hadTurn(i, n int) bool {
	rec := d.Status.Stages[i]
	switch {
	case i != d.active() || rec.SatisfiedSince != nil || d.isDone(i) || rec.Phase == v1alpha1.Pending || rec.Phase == v1alpha1.Skipped:
		return true
	case n < 0:
		return false
	case d.policy.stages[i].perCluster != nil:
		return rec.Batches[n].SatisfiedSince != nil
	}
	return n < int(rec.StartedBatches)-1
}

// freezeLater keeps the clusters of stages and batches whose turn comes again, and whose
// BindingPolicies stay as they are until then, at the version of the workload that they have.
func (d *decider) freezeLater(wanted []placement) {
	if !d.policy.stagesUpdates() {
		return
	}
	for n := range d.Status.BindingPolicies {
		rec := &d.Status.BindingPolicies[n]
		isWanted := slices.ContainsFunc(wanted, func(p placement) bool { return p.name == rec.Name })
		if isWanted || rec.Removing || !d.exists(rec.Name) || d.observed[rec.Name].foreign {
			continue
		}
		spec := d.observed[rec.Name].policy.Spec
		spec.Downsync = frozen(spec.Downsync)
		d.Ensure = append(d.Ensure, versioned(d.newBindingPolicy(rec.Name, spec), rec))
	}
}

// isThawed reports whether the Binding of a BindingPolicy lets new versions through.
func (s *bindingPolicyState) isThawed() bool {
	for _, o := range s.bound {
		if o.clause.CreateOnly {
			return false
		}
	}
	return true
}

// versionsOf lists the objects of a Binding with their versions.
func versionsOf(b *control.Binding) (all []string) {
	for _, clauses := range [][]control.DownsyncClause{b.Spec.Workload.ClusterScope, b.Spec.Workload.NamespaceScope} {
		for _, c := range clauses {
			all = append(all, c.Group+"/"+c.Resource+"/"+c.Namespace+"/"+c.Name+"@"+c.ResourceVersion)
		}
	}
	slices.Sort(all)
	return all
}
