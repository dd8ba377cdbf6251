package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Status is all that a rollout stores: after a restart it goes on from here.
type Status struct {
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// ActiveStage is the name of the stage that has the workload; "" before the first stage.
	ActiveStage string `json:"activeStage"`
	// Revision is a hash of the part of the spec that OnChange watches.
	Revision string `json:"revision,omitempty"`
	// Stages has a record for each stage of the spec, in the same order.
	Stages []StageStatus `json:"stages,omitempty"`
	// Conditions are Ready, Progressing, Stalled, Paused and Succeeded.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// StageStatus is the record of one stage. Times are whole seconds, rounded up. They are not
// metav1.MicroTime, which could not read the times that other programs write.
type StageStatus struct {
	Name  string `json:"name"`
	Phase Phase  `json:"phase"`
	// StartedAt is when the stage, or its latest batch, became active.
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// SatisfiedSince is since when the condition and all guards hold. Absent: they do not hold.
	SatisfiedSince *metav1.Time `json:"satisfiedSince,omitempty"`
	// CompletedAt is when the stage was left, or when the rollout ended in it.
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
	// ApprovedBefore and ApprovedAfter are who approved: the values of the annotations.
	ApprovedBefore string `json:"approvedBefore,omitempty"`
	ApprovedAfter  string `json:"approvedAfter,omitempty"`
	// Batches are the clusters of a stage with maxConcurrency, as they were first divided. Batch is
	// how many batches have the workload.
	Batches []Batch `json:"batches,omitempty"`
	Batch   int32   `json:"batch,omitempty"`

	Counts  Counts `json:"counts,omitempty"`
	Message string `json:"message,omitempty"`
}

// Batch is the names of clusters that receive the workload at the same time.
type Batch struct {
	Clusters []string `json:"clusters"`
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
