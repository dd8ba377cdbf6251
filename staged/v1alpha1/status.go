package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Status is all that a rollout remembers: it goes on from here after a restart.
type Status struct {
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// ActiveStage is the name of the stage that has the workload; "" before the first.
	ActiveStage string `json:"activeStage"`
	// Revision tells specs apart as far as OnChange is concerned.
	Revision string `json:"revision,omitempty"`
	// Stages are records of the stages of the spec, in its order.
	Stages []StageStatus `json:"stages,omitempty"`
	// Conditions are Ready, Progressing, Stalled, Paused and Succeeded.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// StageStatus is the record of one stage. Times are whole seconds, rounded up: metav1.MicroTime could not read those of other writers.
type StageStatus struct {
	Name  string `json:"name"`
	Phase Phase  `json:"phase"`
	// StartedAt is when the stage, or its latest batch, became active.
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// SatisfiedSince is since when all that is asked for holds.
	SatisfiedSince *metav1.Time `json:"satisfiedSince,omitempty"`
	// CompletedAt is when the stage was left, or was found to be the end.
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
	// Approved names who approved: before the stage, after it.
	ApprovedBefore string `json:"approvedBefore,omitempty"`
	ApprovedAfter  string `json:"approvedAfter,omitempty"`
	// Batches are the clusters of a stage with maxConcurrency, as they were first divided. Batch is how many of them have the workload.
	Batches []Batch `json:"batches,omitempty"`
	Batch   int32   `json:"batch,omitempty"`

	Counts  Counts `json:"counts,omitempty"`
	Message string `json:"message,omitempty"`
}

// Batch is the clusters that receive the workload together.
type Batch struct {
	Clusters []string `json:"clusters"`
}

// Counts are of the objects that the condition looks at, and of the clusters of the stage.
type Counts struct {
	Objects      int32 `json:"objects"`
	Satisfied    int32 `json:"satisfied"`
	Unknown      int32 `json:"unknown"` // of which nothing can be told: no status, or an expression that fails
	Destinations int32 `json:"destinations"`
}

// Phase is where a stage stands.
type Phase string

// The phases. A stage is Pending until it is active, then Progressing, Soaking while its condition holds but it may not be left yet,
// Failed while it fails, and in the end Succeeded, Skipped, or Failed if the rollout went on regardless. RolledBack is left for a new spec.
const (
	Pending     Phase = "Pending"
	Progressing Phase = "Progressing"
	Soaking     Phase = "Soaking"
	Succeeded   Phase = "Succeeded"
	Skipped     Phase = "Skipped"
	Failed      Phase = "Failed"
	RolledBack  Phase = "RolledBack"
)
