package staged_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// deliver brings the workload to the clusters, and a new version of it to clusters that a BindingPolicy
// without createOnly serves. Clusters that are not silent report
// what has changed.
func (m *model) deliver() {
	served := m.served()
	for c := range m.have {
		if len(served[c]) == 0 {
			delete(m.have, c)
			delete(m.returned, c)
			delete(m.status, c)
		}
	}
	for c, by := range served {
		thawed := slices.DeleteFunc(slices.Sorted(slices.Values(by)), func(name string) bool { return m.hub.policies[name].Spec.Downsync[0].CreateOnly })
		switch had := m.have[c]; {
		case had == 0:
			m.have[c] = m.workload + 1
		case had <= m.workload && len(thawed) > 0:
			m.checkUpdate(c, thawed)
			m.have[c] = m.workload + 1
			m.updates++
		}
		if now := fmt.Sprint(m.have[c], m.ready[c], m.bad[c]); !m.silent[c] && m.status[c] != now {
			m.status[c], m.returned[c] = now, m.now
		}
	}
}

// checkUpdate is what invariant (a) is for updates: with updates: Staged, a cluster that has an old
// version receives the new one only in its stage, as far as the newest status has its way.
func (m *model) checkUpdate(cluster string, thawed []string) {
	v, s := m.variant(), m.hub.status
	if !v.updates || s.ObservedGeneration != int64(m.hub.generation) {
		return
	}
	for _, name := range thawed {
		n := slices.IndexFunc(s.Placements, func(o v1alpha1.OwnedPlacement) bool { return o.Name == name })
		if n < 0 || s.Placements[n].Removing || m.isFreezing(name) || m.hub.policies[name].Annotations[v1alpha1.VersionAnnotation] != strconv.FormatInt(s.Placements[n].Version, 10) {
			return // it is about to be updated or removed
		}
		if stageNameOf(v, name) == s.ActiveStage {
			return
		}
	}
	m.broken("a: cluster %s is updated by %v, and the active stage is %q", cluster, thawed, s.ActiveStage)
}

// isFreezing reports whether a BindingPolicy gets createOnly by the decision that was written last,
// or was written by an earlier one that this has not seen.
func (m *model) isFreezing(name string) bool {
	seen := m.decidedOn[name]
	return m.frozen[name] || seen == nil || seen.ResourceVersion != m.hub.policies[name].ResourceVersion
}

// report says when the clusters of a Binding have reported.
func (m *model) report(name string, b *control.Binding) {
	if _, known := m.bound[m.workload]; !known {
		m.bound[m.workload] = m.now
	}
	r := bindingpolicy.Report{BindingPolicy: name, Object: fleet.ObjectRef{Group: "apps", Resource: "deployments", Namespace: "shop", Name: "web"}}
	var rows []control.StatusCombinationRow
	for _, d := range b.Spec.Destinations {
		at, reported := m.returned[d.ClusterID]
		r.Clusters = append(r.Clusters, fleet.ClusterReport{Cluster: d.ClusterID, Reported: reported, LastReturned: at, BoundAt: m.bound[m.workload]})
		rows = append(rows, control.StatusCombinationRow{Columns: []control.Value{{Type: "String", String: &d.ClusterID}, timeValue(at, reported)}})
	}
	switch m.variant().reports {
	case 1:
		m.hub.reports = append(m.hub.reports, r)
	case 2:
		s := m.hub.statuses[name]
		s.Results = append(s.Results, control.NamedStatusCombination{Name: "who", ColumnNames: []string{"cluster", "at"}, Rows: rows})
	}
}

// timeValue is how KubeStellar writes when a cluster has reported: 1970 if it has not.
func timeValue(at time.Time, reported bool) control.Value {
	if !reported {
		at = time.Unix(0, 0).UTC()
	}
	text, _ := json.Marshal(at)
	return control.Value{Type: "Object", Object: &control.JSON{Raw: text}}
}

// checkRollbacks is invariant (c).
func (m *model) checkRollbacks(seen hubState, d bindingpolicy.Decision) {
	if happened(d, "NewRevision") { // then all is tried again
		m.rollbacks, m.batchRollbacks = 0, 0
	}
	for _, e := range d.Events {
		switch e.Reason {
		case "RolledBack":
			m.rollbacks++
		case "BatchRolledBack":
			m.batchRollbacks++
		}
	}
	if m.rollbacks > len(m.variants[seen.variant].stages) {
		m.broken("c: %d rollbacks without an edit", m.rollbacks)
	}
	if m.batchRollbacks > 29 { // as many clusters may there be
		m.broken("c: %d rollbacks of batches without an edit", m.batchRollbacks)
	}
}

// isRolledBack reports whether a BindingPolicy is that of a batch that was rolled back.
func (m *model) isRolledBack(v *variant, i int, name string) bool {
	n := slices.IndexFunc(m.hub.status.Placements, func(o v1alpha1.OwnedPlacement) bool { return o.Name == name })
	rec := stageStatus(m.hub.status, v.stages[i].name)
	_, number, _ := strings.Cut(strings.TrimPrefix(name, "s.stage."), ".")
	batch, err := strconv.Atoi(number)
	return err == nil && n >= 0 && m.hub.status.Placements[n].Removing && batch > int(rec.StartedBatches) &&
		v.stages[i].onFailure == "RollbackBatch"
}

// isOpen reports whether the windows of the histories are open.
func isOpen(at time.Time) bool { return at.Minute()%2 == 0 || at.Second() < 30 }

// checkWindows is that no stage, and with batchesInWindows no batch, begins outside the windows, a
// rollback apart.
func (m *model) checkWindows(p *playerModel, before v1alpha1.Status, d bindingpolicy.Decision) {
	v := m.variants[p.seen.variant]
	i := v.index(d.Status.ActiveStage)
	if i < 0 || isOpen(p.at) || happened(d, "RolledBack") || happened(d, "StatusLost") {
		return
	}
	switch s := v.stages[i]; {
	case s.windows > 0 && happened(d, "StageStarted"), s.windows > 0 && happened(d, "WentBack"):
		m.broken("a: stage %s begins at %s, outside its windows", s.name, p.at)
	case s.windows > 1 && happened(d, "BatchStarted"):
		m.broken("a: a batch of stage %s begins at %s, outside the windows", s.name, p.at)
	}
}

func happened(d bindingpolicy.Decision, reason string) bool {
	return slices.ContainsFunc(d.Events, func(e staged.Event) bool { return e.Reason == reason })
}

func (m *model) approveAll(by string) {
	m.hub.annotations = maps.Clone(m.hub.annotations)
	if m.hub.annotations == nil {
		m.hub.annotations = map[string]string{}
	}
	for _, s := range m.variant().stages {
		value := by
		if a := stageStatus(m.hub.status, s.name).Awaiting; a != nil {
			value = a.Ticket + " " + by
		}
		m.hub.annotations[v1alpha1.ApprovalPrefix+"before."+s.name] = value
	}
	m.hub.version++
}

// retryAll asks for another attempt of all stages.
func (m *model) retryAll(why string) {
	m.hub.annotations = maps.Clone(m.hub.annotations)
	if m.hub.annotations == nil {
		m.hub.annotations = map[string]string{}
	}
	for _, s := range m.variant().stages {
		name := "first"
		if m.hub.status.Wanted != "" {
			name = m.hub.status.Wanted
		}
		m.hub.annotations[v1alpha1.RetryPrefix+s.name] = name + " " + why
	}
	m.hub.version++
	m.rollbacks, m.batchRollbacks = 0, 0
}
