package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/stagecraft-go/stagecraft/staged/control"
)

// Group, Version and Kind name the StagedBindingPolicy resource. It is cluster-scoped.
const (
	Group   = "community.kubestellar.io"
	Version = "v1alpha1"
	Kind    = "StagedBindingPolicy"
)

// StagedBindingPolicy places a workload on one group of clusters after another.
type StagedBindingPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status,omitempty"`
}

// Spec is the definition of a StagedBindingPolicy.
type Spec struct {
	// Downsync chooses the workload, as in a BindingPolicy. All stages share it.
	Downsync []control.DownsyncPolicyClause `json:"downsync,omitempty"`
	// Stages are passed in order. At least one.
	Stages []Stage `json:"stages"`
	// Retention says what becomes of the workload in the clusters of a stage that is passed. Default Move.
	Retention Retention `json:"retention,omitempty"`
	// OnChange says what a change of Downsync, or of the names or cluster selectors of Stages, does to a rollout. Default Ignore.
	OnChange OnChange `json:"onChange,omitempty"`
}

// Retention is Move or Keep.
type Retention string

// Move takes the workload away from the clusters of a stage once the next one has it; Keep leaves it there.
const (
	Move Retention = "Move"
	Keep Retention = "Keep"
)

// OnChange is Ignore or Restart.
type OnChange string

// Ignore goes on from the active stage; Restart begins with the first stage again.
const (
	Ignore  OnChange = "Ignore"
	Restart OnChange = "Restart"
)

// Stage is a group of clusters and what must hold there before the next stage.
type Stage struct {
	// Name is unique in the policy. With that of the policy it makes a label value: see package staged for the length.
	Name string `json:"name"`
	// ClusterSelectors choose the clusters: those that any of them matches. None: no cluster.
	ClusterSelectors []metav1.LabelSelector `json:"clusterSelectors,omitempty"`
	// Filter is a CEL expression over downsyncClause, the clause of the Binding. It chooses the objects that Condition looks at; the
	// stage places all of them. Absent: all.
	Filter string `json:"filter,omitempty"`
	// Condition is a CEL expression over obj, a CombinedStatus. The stage is passed once it is true for every object. Absent: never; so ends
	// the last stage.
	Condition string `json:"condition,omitempty"`

	// Soak is how long Condition must hold without a break. Default 0.
	Soak *metav1.Duration `json:"soak,omitempty"`
	// Approval asks for a person's consent.
	Approval *Approval `json:"approval,omitempty"`
	// Windows say when the stage may be started: in one of those without deny, if there are any, and in none with deny.
	Windows []Window `json:"windows,omitempty"`
	// ProgressDeadlineSeconds is how long after its start the stage may be without Condition before it has failed. Absent: for ever.
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`
	// FailureCondition is like Condition; the stage has failed while it is true for any object.
	FailureCondition string `json:"failureCondition,omitempty"`
	// OnFailure is what happens then. Default Pause.
	OnFailure OnFailure `json:"onFailure,omitempty"`
	// MaxFailures is how many destinations may be silent or out of date: a number, or a percentage of them, rounded down. One destination
	// must have reported in any case. Default 0.
	MaxFailures *intstr.IntOrString `json:"maxFailures,omitempty"`
	// MaxConcurrency is how many clusters receive the workload at once: a number, or a percentage of those selected, rounded
	// down, at least 1. Each batch must meet Condition before the next. Absent: all.
	MaxConcurrency *intstr.IntOrString `json:"maxConcurrency,omitempty"`
	// Paused keeps the rollout from entering and from leaving the stage.
	Paused bool `json:"paused,omitempty"`
	// SkipIfEmpty passes the stage if its selectors match no cluster.
	SkipIfEmpty bool `json:"skipIfEmpty,omitempty"`
	// Guards loosens what is checked beside Condition. Absent: all is checked.
	Guards *Guards `json:"guards,omitempty"`
}

// Approval says where consent is needed. It is given by the annotations approval.community.kubestellar.io/before.<stage> and after.<stage>
// of the StagedBindingPolicy, whose value names who gives it; once seen it cannot be taken back.
type Approval struct {
	Before bool `json:"before,omitempty"` // before the stage is started
	After  bool `json:"after,omitempty"`  // before it is left
}

// Window is a span of time that recurs.
type Window struct {
	// Cron says when it opens: minute, hour, day of month, month, day of week.
	Cron string `json:"cron"`
	// Duration is how long it stays open, from its first instant on.
	Duration metav1.Duration `json:"duration"`
	// TimeZone is the IANA name of the zone of Cron. Default UTC.
	TimeZone string `json:"timeZone,omitempty"`
	// Deny makes it a time at which the stage may not be started.
	Deny bool `json:"deny,omitempty"`
}

// OnFailure is Pause, Continue or Rollback.
type OnFailure string

// Pause stays in the stage while it fails; Continue passes it; Rollback goes back to the stage before, for good until the spec changes.
const (
	Pause    OnFailure = "Pause"
	Continue OnFailure = "Continue"
	Rollback OnFailure = "Rollback"
)

// Guards are conditions that hold for every stage unless they are loosened here.
type Guards struct {
	// MinDestinations is how many clusters the stage must have. Default 1.
	MinDestinations *int32 `json:"minDestinations,omitempty"`
	// AllowEmpty lets a stage without any object to look at pass.
	AllowEmpty bool `json:"allowEmpty,omitempty"`
	// AllowStale accepts statuses of destinations that are silent or older than the workload.
	AllowStale bool `json:"allowStale,omitempty"`
	// AllowErrors accepts errors in the columns that the condition reads.
	AllowErrors bool `json:"allowErrors,omitempty"`
}
