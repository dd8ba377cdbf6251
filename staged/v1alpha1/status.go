package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Status is everything that a rollout stores: after a restart it goes on from here.
type Status struct {
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// ActiveStage is the name of the stage that has the workload; "" before the first stage.
	ActiveStage string `json:"activeStage"`
	// Plan is a hash of what is placed where: spec.downsync, and the names, order and selectors of
	// the stages.
	Plan string `json:"plan,omitempty"`
	// Wanted is the revision that is rolled out: the newest one.
	Wanted string `json:"wanted,omitempty"`
	// Revisions are the ones that a record names, and a few older ones.
	Revisions []Revision `json:"revisions,omitempty"`
	// Cohorts are the ledger: what each cluster should have and has. Clusters with equal records
	// share one.
	Cohorts []Cohort `json:"cohorts,omitempty"`
	// Conflicts are the placements of others that hold objects of the workload in clusters of the
	// policy.
	Conflicts []Conflict `json:"conflicts,omitempty"`
	// Expedited is the value of [ExpediteAnnotation] while it names the wanted revision.
	Expedited string `json:"expedited,omitempty"`
	// History is the last ten attempts that have ended, the oldest first.
	History []Attempt `json:"history,omitempty"`
	// Stages has a record for each stage of the spec, in the same order.
	Stages []StageStatus `json:"stages,omitempty"`
	// Placements are the ones that the rollout owns, sorted by name.
	Placements []OwnedPlacement `json:"placements,omitempty"`
	// FirstVersion and Version are the first and the last version that was given to a placement.
	// They begin with the time of the first decision, in seconds, so that a placement from before
	// the status was lost can be told from one that this status has made.
	FirstVersion int64 `json:"firstVersion,omitempty"`
	Version      int64 `json:"version,omitempty"`
	// Epoch is when the status began, or was found to be an old one that was restored, in seconds. It
	// grows with each other plan and revision, so that each ticket is new. Tickets from
	// before do not count.
	Epoch int64 `json:"epoch,omitempty"`
	// UID is that of the StagedBindingPolicy. Another one shows that the status was restored from a
	// backup.
	UID types.UID `json:"uid,omitempty"`
	// Recovering is how long the rollout has waited to learn what clusters have, after its status was
	// lost or restored. Absent: it does not wait for that.
	Recovering *Clock `json:"recovering,omitempty"`
	// RestoredAt is the resourceVersion of the StagedBindingPolicy whose status was found to be an old
	// one. What is observed of clusters at that version rests on the old status, and does not count.
	RestoredAt string `json:"restoredAt,omitempty"`
	// Conditions are Ready, Progressing, Stalled, Paused, Succeeded and Verified.
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// OldPlan, OldWorkload and OldPlacements are the fields of a status that was written before
	// revisions were known. They are read once and never written again.
	OldPlan       string           `json:"revision,omitempty"`
	OldWorkload   string           `json:"workload,omitempty"`
	OldPlacements []OwnedPlacement `json:"bindingPolicies,omitempty"`
}

// Revision is the workload as its source held it at one moment.
type Revision struct {
	// ID is sha256: and 64 hexadecimal digits. Ordinal counts the revisions of the policy, and Name
	// is r, Ordinal, - and the first 12 digits. Nothing compares by Ordinal.
	ID      string `json:"id"`
	Ordinal int64  `json:"ordinal"`
	Name    string `json:"name"`
}

// Hold is what a cluster should have if it is to keep what it has. Withdrawn is what it should have
// if the workload was brought there first by a failed revision, and is taken away again.
const (
	Hold      = "Hold"
	Withdrawn = "Withdrawn"
)

// Cohort is clusters with the same record.
type Cohort struct {
	ClusterRecord `json:",inline"`

	Clusters []string `json:"clusters"` // sorted
}

// ClusterRecord is what is known of a cluster. Revisions are IDs.
type ClusterRecord struct {
	// Stage is the first stage that selects the cluster; "": none does.
	Stage string `json:"stage,omitempty"`
	// Desired is the revision that the cluster should have, or [Hold]; "": nothing is placed there.
	Desired string `json:"desired,omitempty"`
	// Applied is the revision that the transport has confirmed there; "": not known.
	Applied string `json:"applied,omitempty"`
	// Health is the result of the condition of the stage for Of, and Evidence says how well that is
	// known.
	Health   string `json:"health,omitempty"`
	Of       string `json:"of,omitempty"`
	Evidence string `json:"evidence,omitempty"`
	// LastGood is the revision with which the cluster was part of a fulfilled stage, or that it had,
	// healthy, before the policy placed anything.
	LastGood string `json:"lastGood,omitempty"`
	// Prior is the LastGood before the present one.
	Prior string `json:"prior,omitempty"`
	// Back is the revision that the cluster goes back to, or is to go back to once the source holds
	// that revision again.
	Back string `json:"back,omitempty"`
	// Fresh says that the policy brought the workload to the cluster, which had none of it.
	Fresh bool `json:"fresh,omitempty"`
	// SetAside is why the rollout goes on without the cluster.
	SetAside string `json:"setAside,omitempty"`
	// Mark is what the transport keeps about the cluster.
	Mark string `json:"mark,omitempty"`
}

// Conflict is somebody else's placement of the same objects in the same clusters.
type Conflict struct {
	Owner    string   `json:"owner"` // such as BindingPolicy web.stage.prod
	Clusters []string `json:"clusters"`
	// First says that this policy was there first, and goes on. If not, it places nothing there.
	First bool `json:"first,omitempty"`
}

// Attempt is a try to pass a stage with a revision that has ended.
type Attempt struct {
	Revision string       `json:"revision"` // the name
	Stage    string       `json:"stage"`
	Number   int32        `json:"number"`
	Began    *metav1.Time `json:"began,omitempty"`
	Ended    *metav1.Time `json:"ended,omitempty"`
	// Outcome is Succeeded, Skipped, Failed, RolledBack, RollbackNeeded, Superseded or Retried.
	Outcome    string `json:"outcome"`
	Why        string `json:"why,omitempty"`
	ApprovedBy string `json:"approvedBy,omitempty"`
	// ExpeditedBy is who let the revision skip soaks and windows.
	ExpeditedBy string `json:"expeditedBy,omitempty"`
}

// OwnedPlacement is the record of one placement: with KubeStellar a BindingPolicy.
type OwnedPlacement struct {
	Name  string `json:"name"`
	Stage string `json:"stage"`
	// Version is the version that the placement must have: see [VersionAnnotation]. It changes with
	// what is placed where, and when a placement that was marked for removal is wanted again.
	Version int64 `json:"version"`
	// Spec is a hash of that.
	Spec string `json:"spec,omitempty"`
	// UID is that of the observed object; "": no object was observed, or the placement is not one object.
	UID types.UID `json:"uid,omitempty"`
	// Clusters are the ones that it was observed to hold last, sorted.
	Clusters []string `json:"clusters,omitempty"`
	// Removing says that it is no longer needed. It is removed once the clusters that still need
	// the workload have it from others.
	Removing bool `json:"removing,omitempty"`
}

// Clock is time that was witnessed: decisions saw that something holds.
type Clock struct {
	Seconds int64        `json:"seconds"`
	At      *metav1.Time `json:"at,omitempty"` // the last such decision that was stored
}

// Awaiting is an approval that the rollout waits for.
type Awaiting struct {
	Gate string `json:"gate"` // before or after
	// Ticket names what the approval is for: the policy, the stage, the gate, the revision, the plan and the
	// attempt.
	Ticket string `json:"ticket"`
	// Since is the resourceVersion that the StagedBindingPolicy had before the ticket was written.
	Since string `json:"since,omitempty"`
	// Clear says that the annotation was seen absent since the ticket is in the status, so that a
	// value without a ticket can only be meant for it.
	Clear bool `json:"clear,omitempty"`
}

// StageStatus is the record of one stage. Times are whole seconds, rounded up. They are not
// metav1.MicroTime, which could not read the times that other programs write.
type StageStatus struct {
	Name  string `json:"name"`
	Phase Phase  `json:"phase"`
	// Attempt counts the tries with the wanted revision.
	Attempt int32 `json:"attempt,omitempty"`
	// FulfilledWith is the revision that the stage was passed or skipped with last.
	FulfilledWith string `json:"fulfilledWith,omitempty"`
	// EnteredAt is when the stage became active. StartedAt is when its latest batch did; without
	// batches both are the same.
	EnteredAt *metav1.Time `json:"enteredAt,omitempty"`
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// SatisfiedSince is since when the condition and all guards hold. Absent: they do not hold. Soak
	// is how long that was witnessed.
	SatisfiedSince *metav1.Time `json:"satisfiedSince,omitempty"`
	Soak           *Clock       `json:"soak,omitempty"`
	// Waited is how long the stage, or its latest batch, has waited since it was delivered.
	// StageWaited is that of the whole stage.
	Waited      *Clock `json:"waited,omitempty"`
	StageWaited *Clock `json:"stageWaited,omitempty"`
	// Deliveries are the clusters that were told to take the wanted revision, and do not have it yet, of a
	// stage with a deadline for that. Waited is how long the delivery takes.
	Deliveries []Batch `json:"deliveries,omitempty"`
	// Empty is how long a stage with skipIfEmpty that had clusters has none.
	Empty *Clock `json:"empty,omitempty"`
	// CompletedAt is when the stage was left, or when the rollout ended in it.
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
	// ApprovedBefore and ApprovedAfter are who approved, for the tickets BeforeTicket and
	// AfterTicket.
	ApprovedBefore string `json:"approvedBefore,omitempty"`
	ApprovedAfter  string `json:"approvedAfter,omitempty"`
	BeforeTicket   string `json:"beforeTicket,omitempty"`
	AfterTicket    string `json:"afterTicket,omitempty"`
	// Awaited is how long only an approval is missing, and Awaiting is which one.
	Awaited  *Clock    `json:"awaited,omitempty"`
	Awaiting *Awaiting `json:"awaiting,omitempty"`
	// Retried is the value of the annotation for a retry that was seen last.
	Retried string `json:"retried,omitempty"`
	// Batches are the clusters of a stage with maxConcurrency or perCluster, or with updates:
	// Staged. A cluster stays in its batch while the stage selects it. The first StartedBatches of
	// them have their turn, or have had it.
	Batches        []Batch `json:"batches,omitempty"`
	StartedBatches int32   `json:"startedBatches,omitempty"`

	Counts  Counts `json:"counts,omitempty"`
	Message string `json:"message,omitempty"`
}

// Batch is the names of clusters that receive the workload at the same time. The other fields, except
// Late, are those of a stage with perCluster, where each batch is one cluster, or, Waited alone, those of
// deliveries.
type Batch struct {
	Clusters       []string     `json:"clusters"`
	StartedAt      *metav1.Time `json:"startedAt,omitempty"`
	SatisfiedSince *metav1.Time `json:"satisfiedSince,omitempty"`
	Soak           *Clock       `json:"soak,omitempty"`
	Waited         *Clock       `json:"waited,omitempty"`
	// SetAside is why the rollout goes on without the cluster; "": it does not.
	SetAside string `json:"setAside,omitempty"`
	// Late are clusters that have joined while the stage soaked: it does not wait for them.
	Late []string `json:"late,omitempty"`
}

// Counts counts the objects that the filter keeps, and the clusters of the stage.
type Counts struct {
	Objects      int32 `json:"objects"`
	Satisfied    int32 `json:"satisfied"`
	Unknown      int32 `json:"unknown"` // objects without status, or for which an expression fails
	Destinations int32 `json:"destinations"`
}

// Phase is where a stage stands.
type Phase string

// The phases. A stage is Pending until it is active, then Progressing; Soaking while its condition
// holds but something else must come first; Failed while it fails. In the end it is Succeeded, Skipped, or
// Failed if the rollout went on in spite of the failure.
//
// RollingBack means that clusters go back to the revision that they had; then the stage is
// RolledBack. RollbackNeeded means that the transport cannot place that revision: the source must
// hold it again. These three and Failed last until another revision comes, or somebody asks for a
// retry.
const (
	Pending        Phase = "Pending"
	Progressing    Phase = "Progressing"
	Soaking        Phase = "Soaking"
	Succeeded      Phase = "Succeeded"
	Skipped        Phase = "Skipped"
	Failed         Phase = "Failed"
	RollingBack    Phase = "RollingBack"
	RolledBack     Phase = "RolledBack"
	RollbackNeeded Phase = "RollbackNeeded"
)
