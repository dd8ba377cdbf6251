package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/stagecraft-go/stagecraft/staged/control"
)

// Group, Version and Kind name the StagedBindingPolicy resource. It is cluster-scoped.
const (
	Group   = "community.kubestellar.io"
	Version = "v1alpha1"
	Kind    = "StagedBindingPolicy"
)

// GroupVersion is Group and Version in apimachinery's type.
var GroupVersion = schema.GroupVersion{Group: Group, Version: Version}

// ApprovalPrefix begins the names of the annotations by which a person approves. before.<stage> or
// after.<stage> follows.
const ApprovalPrefix = "approval.community.kubestellar.io/"

// StageSeparator stands between the name of a StagedBindingPolicy and the name of a stage in the
// name of a BindingPolicy.
const StageSeparator = ".stage."

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
	// Stages are passed in this order. There must be at least one.
	Stages []Stage `json:"stages"`
	// Retention says whether the workload stays in the clusters of a passed stage. Default Move.
	Retention Retention `json:"retention,omitempty"`
	// OnChange says what a rollout does when Downsync changes, or the name or the cluster selectors
	// of a stage. Default Ignore.
	OnChange OnChange `json:"onChange,omitempty"`
}

// Retention is Move or Keep.
type Retention string

// Move removes the workload from the clusters of a stage once the next stage has it. Keep leaves it
// there.
const (
	Move Retention = "Move"
	Keep Retention = "Keep"
)

// OnChange is Ignore or Restart.
type OnChange string

// Ignore goes on from the active stage. Restart begins with the first stage again.
const (
	Ignore  OnChange = "Ignore"
	Restart OnChange = "Restart"
)

// Stage is a group of clusters and what must hold there before the next stage.
type Stage struct {
	// Name is unique in the policy. The name of the policy, StageSeparator and Name together must
	// be a label value of at most 63 characters; with MaxConcurrency at most 58.
	Name string `json:"name"`
	// ClusterSelectors choose the clusters: every one that any of them matches. Empty: no cluster.
	ClusterSelectors []metav1.LabelSelector `json:"clusterSelectors,omitempty"`
	// Filter is a CEL expression over downsyncClause, a clause of the Binding. It chooses the
	// objects that Condition is evaluated for; the stage still places all objects. Absent: all.
	Filter string `json:"filter,omitempty"`
	// Condition is a CEL expression over obj, a CombinedStatus. The stage is passed once it is true
	// for every object. Absent: the rollout ends in this stage.
	Condition string `json:"condition,omitempty"`

	// Soak is how long Condition must hold without interruption. Default 0.
	Soak *metav1.Duration `json:"soak,omitempty"`
	// Approval says when a person must approve. Absent: never.
	Approval *Approval `json:"approval,omitempty"`
	// Windows say when the stage may be started: within a window without deny, if there is any, and
	// outside all windows with deny.
	Windows []Window `json:"windows,omitempty"`
	// ProgressDeadlineSeconds is how many seconds after its start the stage fails if Condition does
	// not hold by then. Absent: it never fails for that reason.
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`
	// FailureCondition is a CEL expression like Condition. The stage has failed while it is true
	// for any object.
	FailureCondition string `json:"failureCondition,omitempty"`
	// OnFailure says what happens when the stage has failed. Default Pause.
	OnFailure OnFailure `json:"onFailure,omitempty"`
	// MaxFailures is how many destinations need not have reported the present workload: a number,
	// or a percentage of them, rounded down. At least one destination must have reported. Default
	// 0.
	MaxFailures *intstr.IntOrString `json:"maxFailures,omitempty"`
	// MaxConcurrency is how many clusters receive the workload at once: a number, or a percentage
	// of the selected clusters, rounded down, at least 1. Condition must hold for each batch before
	// the next one begins. Absent: all clusters at once.
	MaxConcurrency *intstr.IntOrString `json:"maxConcurrency,omitempty"`
	// Paused stops the rollout before it enters the stage, and before it leaves it.
	Paused bool `json:"paused,omitempty"`
	// SkipIfEmpty skips the stage if its selectors match no cluster.
	SkipIfEmpty bool `json:"skipIfEmpty,omitempty"`
	// Guards loosens the checks that are made beside Condition. Absent: all checks are made.
	Guards *Guards `json:"guards,omitempty"`
}

// Approval says when a person must approve. A person approves with an annotation of the
// StagedBindingPolicy: its name is [ApprovalPrefix] and before.<stage> or after.<stage>, its value
// says who approves. An approval that was seen cannot be taken back.
type Approval struct {
	Before bool `json:"before,omitempty"` // before the stage starts
	After  bool `json:"after,omitempty"`  // before the stage is left
}

// Window is a recurring span of time.
type Window struct {
	// Cron says when the window opens: minute, hour, day of month, month, day of week.
	Cron string `json:"cron"`
	// Duration is how long the window stays open.
	Duration metav1.Duration `json:"duration"`
	// TimeZone is the IANA name of the time zone of Cron. Default UTC.
	TimeZone string `json:"timeZone,omitempty"`
	// Deny forbids that the stage starts within the window.
	Deny bool `json:"deny,omitempty"`
}

// OnFailure is Pause, Continue or Rollback.
type OnFailure string

// Pause stays in the stage while it fails. Continue goes on to the next batch or stage. Rollback
// goes back to the stage before, until the spec changes.
const (
	Pause    OnFailure = "Pause"
	Continue OnFailure = "Continue"
	Rollback OnFailure = "Rollback"
)

// Guards loosens the checks that every stage must pass beside its condition.
type Guards struct {
	// MinDestinations is the least number of clusters that the stage must have. Default 1.
	MinDestinations *int32 `json:"minDestinations,omitempty"`
	// AllowEmpty lets a stage pass for which there is no object to evaluate.
	AllowEmpty bool `json:"allowEmpty,omitempty"`
	// AllowStale does not ask whether every destination has reported the present workload.
	AllowStale bool `json:"allowStale,omitempty"`
	// AllowErrors ignores errors in the columns that the condition reads.
	AllowErrors bool `json:"allowErrors,omitempty"`
}
