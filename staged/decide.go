package staged

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/internal/printable"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A Decision says what to do. Do it in this order: store the snapshots of Keep that are not stored
// yet; write Status; set the finalizer; make the placements of Place; take off the owner references of
// Disown; remove the placements of Remove; restore the source; forget the snapshots that are not in
// Keep; take off the finalizer. After an interruption, make a new decision from the stored status.
//
// Several programs may decide at the same time if each of them writes Status first, even if it has
// not changed, under the resourceVersion of the StagedBindingPolicy that it has decided from, does
// nothing else if that fails, and updates and deletes the objects of placements under the
// resourceVersion that it has observed.
type Decision struct {
	// Status is the new status of the StagedBindingPolicy.
	Status v1alpha1.Status
	// Place are the placements that must exist, without the observed fields. One that is being
	// deleted has to be made again when it is gone.
	Place []fleet.Placement
	// Remove are the names of placements to remove. A name is here only after the placements of
	// Place were observed as taken over, and after these hold every cluster that has the workload
	// from the old one and still needs it.
	Remove []string
	// Disown are the names of placements that must lose their owner references.
	Disown []string
	// Finalizer says that the StagedBindingPolicy must carry [v1alpha1.Finalizer], before placements
	// are made; if not, it must not carry it, after the rest was done.
	Finalizer bool
	// Restore is the revision that the source must hold again, where the policy asks for that; "":
	// none.
	Restore fleet.RevisionID
	// Keep are the revisions whose snapshots are needed. Nil: forget no snapshot.
	Keep []fleet.RevisionID
	// Events are what happened and people may want to know.
	Events []Event
	// RecheckAfter is when to decide again if nothing changes before; 0: never.
	RecheckAfter time.Duration
	// Message says what the rollout waits for, or that it has succeeded.
	Message string
}

// An Event is something that happened to the rollout, with the fields of a Kubernetes Event.
type Event struct{ Type, Reason, Message string }

// Decide decides what to do, given the stored status and what was observed. It is pure and never
// fails. Deciding again from the new status, with nothing else changed, changes nothing.
func (p *Policy) Decide(status v1alpha1.Status, seen fleet.World) Decision {
	return NewRollout(p).Decide(status, seen)
}

// A Rollout is a Policy that remembers results: it decides what [Policy.Decide] decides, and
// evaluates again only for objects whose address has changed. It must not be used from several
// goroutines at once.
type Rollout struct {
	policy   *Policy
	results  map[*fleet.Object]*objectState
	exceeded bool // the last decision had not enough budget
}

// NewRollout returns a Rollout that remembers nothing yet.
func NewRollout(p *Policy) *Rollout {
	return &Rollout{policy: p, results: map[*fleet.Object]*objectState{}}
}

// Update sets the version of the policy.
func (r *Rollout) Update(p *Policy) {
	if p != r.policy {
		r.policy, r.results = p, map[*fleet.Object]*objectState{}
	}
}

// Policy returns the version of the policy.
func (r *Rollout) Policy() *Policy { return r.policy }

// Decide is [Policy.Decide] with remembered results.
func (r *Rollout) Decide(status v1alpha1.Status, seen fleet.World) Decision {
	d := r.decider(status, seen)
	d.budget.reuse = r.exceeded
	d.run()
	r.exceeded = d.budget.exceeded
	if r.results = d.used; d.meta.DeletionTimestamp != nil {
		r.results = map[*fleet.Object]*objectState{}
	}
	return d.Decision
}

// A decider makes one Decision.
type decider struct {
	Decision
	policy   *Policy
	meta     metav1.ObjectMeta
	seen     *fleet.World
	now      time.Time
	placed   map[string]*fleet.Placement  // observed, by name
	clusters map[string]map[string]string // labels of existing clusters; nil: not known
	holders  map[string][]string          // the placements that were observed to hold a cluster
	applied  map[string][]string          // the placements that were observed as applied there; absent: not known
	faults   map[string]string            // why nothing can be delivered to a cluster
	ledger   map[string]v1alpha1.ClusterRecord
	known    map[*fleet.Object]*objectState // results of earlier decisions
	used     map[*fleet.Object]*objectState // results of this one
	recheck  time.Time                      // when to decide again; zero: never
	addLine  func(Line)                     // receives the explanation; nil: no caller wants it
	budget   *budget                        // what evaluations may still cost

	conflicts    []v1alpha1.Conflict // those of the world that matter
	done, paused bool
	undelivered  []string // clusters that have joined a stage and cannot have its revision, and which
	restored     bool     // the status is older than what exists
	foreign      bool     // another program has written the active stage
	stalled      string   // the reason why the rollout is stalled; "" if it is not
}

func (r *Rollout) decider(status v1alpha1.Status, seen fleet.World) *decider {
	d := &decider{policy: r.policy, meta: seen.Meta, seen: &seen, now: seen.Now.Time, placed: map[string]*fleet.Placement{},
		holders: map[string][]string{}, applied: map[string][]string{}, faults: map[string]string{}, known: r.results, used: map[*fleet.Object]*objectState{}, budget: newBudget(r.policy.decisionCost)}
	d.Status = status
	d.Status.Stages = slices.Clone(status.Stages)
	for i := range d.Status.Stages {
		d.Status.Stages[i].Batches = slices.Clone(d.Status.Stages[i].Batches)
	}
	d.Status.Placements = slices.Clone(status.Placements)
	d.Status.Conditions = slices.Clone(status.Conditions)
	for i := range seen.Placements {
		p := &seen.Placements[i]
		d.placed[p.Name] = p
		if p.Ending || p.Taken {
			continue
		}
		for _, c := range p.Has {
			d.holders[c] = append(d.holders[c], p.Name)
		}
	}
	for _, c := range seen.Clusters {
		if c.Holders != nil {
			d.applied[c.Name] = c.Holders
		}
		if c.Fault != "" {
			d.faults[c.Name] = c.Fault
		}
	}
	if seen.Can.Inventory {
		d.clusters = map[string]map[string]string{}
		for _, c := range seen.Clusters {
			if c.Labels != nil {
				d.clusters[c.Name] = c.Labels
			}
		}
	}
	return d
}

func (d *decider) run() {
	if d.meta.DeletionTimestamp != nil {
		d.end()
		return
	}
	if d.Finalizer = d.policy.DeletionPolicy() != ""; d.Finalizer {
		d.disown()
	}
	d.align()
	if d.cannotBegin() {
		d.writeLedger()
		d.setConditions()
		return
	}
	for range 4*len(d.policy.stages) + 8 {
		if !d.step() {
			break
		}
	}
	d.nameSkipped()
	d.listPlacements()
	d.noteUndelivered()
	d.noteFault()
	d.noteAdoptions()
	d.noteConflicts()
	d.writeLedger()
	d.pruneRevisions()
	d.setConditions()
}

// maxClusters is how many clusters the ledger of one policy may have: the status must fit into an object.
const maxClusters = 5000

// cannotBegin reports whether nothing is decided now: the transport cannot give the evidence, there are
// too many clusters for a status, or it is not known yet what the clusters have.
func (d *decider) cannotBegin() bool {
	if why := d.unprovable(); why != "" {
		d.stall("EvidenceUnavailable", "%s", why)
		return true
	}
	if ref := d.snapshotInWorkload(); ref != "" {
		d.stall("SelectsRevisions", "spec.downsync chooses %s, where the snapshots of revisions are: each would be a new revision; name namespaces, resources or labels", ref)
		return true
	}
	if n := len(d.clustersWith("", func(c v1alpha1.ClusterRecord) bool { return c.Stage != "" || isRecorded(c) })); n > maxClusters {
		d.stall("TooManyClusters", "the stages have %d clusters, and a status can hold %d: divide the policy", n, maxClusters)
		return true
	}
	return d.isRecovering()
}

// snapshotInWorkload returns an object of the workload that is in the namespace of the snapshots; ""
// without one.
func (d *decider) snapshotInWorkload() string {
	objects := d.seen.Workload.Objects
	for _, p := range d.seen.Placements {
		if !p.Taken {
			objects = slices.Concat(objects, p.Objects)
		}
	}
	for _, o := range objects {
		if ref := o.Ref(); ref.Namespace == fleet.SnapshotNamespace {
			return ref.String()
		}
	}
	return ""
}

// unprovable says that the transport cannot give the evidence that the policy asks for; "" if it
// can.
func (d *decider) unprovable() string {
	if !d.policy.stagesUpdates() {
		return ""
	}
	for _, s := range d.policy.stages {
		if want := d.policy.requires(s.Name); want > d.seen.Can.Best {
			return fmt.Sprintf("updates: Staged asks for evidence %s in stage %q, and the transport gives %s: nothing is changed. "+
				"Let the player read the manifests and reports of the transport, or write requireEvidence: None", want, s.Name, d.seen.Can.Best)
		}
	}
	return ""
}

// active returns the index of the active stage; -1 if the spec has no stage of that name.
func (d *decider) active() int { return d.policy.index(d.Status.ActiveStage) }

// step makes one step, and reports whether another one may follow.
func (d *decider) step() bool {
	d.Message, d.stalled, d.paused, d.done, d.recheck, d.Restore = "", "", false, false, time.Time{}, ""
	if d.Status.ActiveStage == "" {
		return d.enter(0)
	}
	i := d.active()
	if i < 0 {
		d.stall("ActiveStageUnknown", "the active stage %q is not in the spec", d.Status.ActiveStage)
		return false
	}
	if back := d.missed(i); back >= 0 {
		return d.goBack(back)
	}
	return d.progress(i)
}

// wait records why a stage is not left.
func (d *decider) wait(rec *v1alpha1.StageStatus, phase v1alpha1.Phase, why string) {
	why = printable.Line(why)
	rec.Phase, rec.Message, rec.CompletedAt = phase, why, nil
	d.Message = fmt.Sprintf("stage %q: %s", rec.Name, why)
}

// hold records why a stage whose condition is true is not left.
func (d *decider) hold(rec *v1alpha1.StageStatus, why string) {
	d.wait(rec, v1alpha1.Soaking, why)
	d.explain(rec.Name, why)
}

// stall records that only a person can make the rollout go on.
func (d *decider) stall(reason, format string, args ...any) {
	d.stalled, d.Message = reason, printable.Line(fmt.Sprintf(format, args...))
	d.explain(d.Status.ActiveStage, d.Message)
}

func (d *decider) explain(stage, why string) {
	if d.addLine != nil {
		d.addLine(Line{Stage: stage, Satisfaction: Unsatisfied, Text: why})
	}
}

// recheckAt asks for another decision at a time.
func (d *decider) recheckAt(at time.Time) { d.recheck = earlier(d.recheck, at) }

func (d *decider) event(kind, reason, format string, args ...any) {
	d.Events = append(d.Events, Event{kind, reason, printable.Line(fmt.Sprintf(format, args...))})
}

// wholeSecond returns a time as a status stores it: in whole seconds, rounded up. So no soak,
// deadline or since that is counted from it is too short. All times are rounded up, so that they
// stay in order.
func wholeSecond(t time.Time) *metav1.Time {
	return &metav1.Time{Time: t.Add(time.Second - 1).Truncate(time.Second).UTC()}
}
