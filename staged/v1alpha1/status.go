package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Status is all that a rollout stores: after a restart it goes on from here.
type Status struct {
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// ActiveStage is the name of the stage that has the workload; "" before the first stage.
	ActiveStage string `json:"activeStage"`
	// Revision is a hash of the part of the spec that OnChange watches.
	Revision string `json:"revision,omitempty"`
	// Workload is a hash of the versions of the workload that are rolled out, with updates: Staged.
	Workload string `json:"workload,omitempty"`
	// Stages has a record for each stage of the spec, in the same order.
	Stages []StageStatus `json:"stages,omitempty"`
	// BindingPolicies are those that the rollout owns, sorted by name.
	BindingPolicies []OwnedBindingPolicy `json:"bindingPolicies,omitempty"`
	// FirstVersion and Version are the first and the last version that was given to a
	// BindingPolicy. They begin with the time of the first decision, in seconds, so that a
	// BindingPolicy from before the status was lost can be told from one that this status has made.
	FirstVersion int64 `json:"firstVersion,omitempty"`
	Version      int64 `json:"version,omitempty"`
	// Conditions are Ready, Progressing, Stalled, Paused and Succeeded.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// OwnedBindingPolicy is the record of one BindingPolicy.
type OwnedBindingPolicy struct {
	Name  string `json:"name"`
	Stage string `json:"stage"`
	// Version is the version that the BindingPolicy must have: see [VersionAnnotation]. It changes
	// with the spec that the BindingPolicy must have, and when a BindingPolicy that was to be
	// removed is wanted again.
	Version int64 `json:"version"`
	// Spec is a hash of that spec.
	Spec string `json:"spec,omitempty"`
	// Workload is a hash of the versions of the workload that its Binding had last.
	Workload string `json:"workload,omitempty"`
	// Outdated are the clusters that it placed an earlier version in, with updates: Staged, until
	// their turn is over: a status from before their turn does not count.
	Outdated []string `json:"outdated,omitempty"`
	// Clusters are the destinations that its Binding had last, sorted.
	Clusters []string `json:"clusters,omitempty"`
	// Removing says that nobody needs it any more. It is removed once the clusters that still need
	// the workload have it from others.
	Removing bool `json:"removing,omitempty"`
}

// StageStatus is the record of one stage. Times are whole seconds, rounded up. They are not
// metav1.MicroTime, which could not read the times that other programs write.
type StageStatus struct {
	Name  string `json:"name"`
	Phase Phase  `json:"phase"`
	// EnteredAt is when the stage became active. StartedAt is when its latest batch did; without
	// batches both are the same.
	EnteredAt *metav1.Time `json:"enteredAt,omitempty"`
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// SatisfiedSince is since when the condition and all guards hold. Absent: they do not hold.
	SatisfiedSince *metav1.Time `json:"satisfiedSince,omitempty"`
	// EmptySince is since when a stage with skipIfEmpty that had clusters has none.
	EmptySince *metav1.Time `json:"emptySince,omitempty"`
	// CompletedAt is when the stage was left, or when the rollout ended in it.
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
	// ApprovedBefore and ApprovedAfter are who approved this revision: the values of the
	// annotations. SpentBefore and SpentAfter are values that approved an earlier one.
	ApprovedBefore string `json:"approvedBefore,omitempty"`
	ApprovedAfter  string `json:"approvedAfter,omitempty"`
	SpentBefore    string `json:"spentBefore,omitempty"`
	SpentAfter     string `json:"spentAfter,omitempty"`
	// AwaitingSince is since when only an approval is missing.
	AwaitingSince *metav1.Time `json:"awaitingSince,omitempty"`
	// Batches are the clusters of a stage with maxConcurrency or perCluster. A cluster stays in its
	// batch while the stage selects it. The first StartedBatches of them have the workload.
	Batches        []Batch `json:"batches,omitempty"`
	StartedBatches int32   `json:"startedBatches,omitempty"`

	Counts  Counts `json:"counts,omitempty"`
	Message string `json:"message,omitempty"`
}

// Batch is the names of clusters that receive the workload at the same time. The other fields are
// those of a stage with perCluster, where each batch is one cluster.
type Batch struct {
	Clusters       []string     `json:"clusters"`
	StartedAt      *metav1.Time `json:"startedAt,omitempty"`
	SatisfiedSince *metav1.Time `json:"satisfiedSince,omitempty"`
	// SetAside is why the rollout goes on without the cluster; "": it does not.
	SetAside string `json:"setAside,omitempty"`
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
// holds but it may not be left yet; Failed while it fails. In the end it is Succeeded, Skipped, or
// Failed if the rollout went on in spite of the failure. RolledBack lasts until the spec changes.
const (
	Pending     Phase = "Pending"
	Progressing Phase = "Progressing"
	Soaking     Phase = "Soaking"
	Succeeded   Phase = "Succeeded"
	Skipped     Phase = "Skipped"
	Failed      Phase = "Failed"
	RolledBack  Phase = "RolledBack"
)
