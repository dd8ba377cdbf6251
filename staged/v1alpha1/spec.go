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

// RetryPrefix begins the names of the annotations by which a person asks to try a failed stage again:
// the name of the stage follows. The value is the name of the revision.
const RetryPrefix = "retry." + Group + "/"

// ExpediteAnnotation lets a revision skip soaks and windows. Its value is the name of the revision
// and, after a space, who says so.
const ExpediteAnnotation = "expedite." + Group

// Finalizer keeps a StagedBindingPolicy with a deletion policy until that is carried out.
const Finalizer = Group + "/placements"

// AbandonAnnotation, with the value "true", ends the wait of the finalizer: whatever is still placed
// stays as it is.
const AbandonAnnotation = "abandon." + Group

// RevisionAnnotation holds the revision that a copy of an object, or the object of a gate, belongs
// to.
const RevisionAnnotation = Group + "/revision"

// VersionAnnotation is the annotation of a BindingPolicy that holds the version that the status of
// its StagedBindingPolicy has for it.
const VersionAnnotation = Group + "/version"

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
	// Updates says how a new version of the workload reaches the clusters that have it. Default
	// AtOnce.
	Updates Updates `json:"updates,omitempty"`
	// Paused stops the rollout where it is: no stage or batch is started, left or rolled back.
	Paused bool `json:"paused,omitempty"`
	// Revisions says how revisions are cut and kept.
	Revisions *Revisions `json:"revisions,omitempty"`
	// RequireEvidence is how well health must be tied to a revision. Default Ordered with Updates
	// Staged, None with AtOnce. A stage may say otherwise for itself.
	RequireEvidence RequireEvidence `json:"requireEvidence,omitempty"`
	// Approvals is Annotations (default) or Objects: then only StageApprovals approve.
	Approvals Approvals `json:"approvals,omitempty"`
	// DeletionPolicy says what happens to the workload when the StagedBindingPolicy is deleted.
	// Default Orphan with Updates Staged. Absent with AtOnce: the garbage collector deletes the
	// BindingPolicies, and the workload goes with them.
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
	// Adopt names BindingPolicies of users that brought the workload to clusters before. The policy
	// takes over their clusters, and changes nothing there until the turn of the stage.
	Adopt []Adoption `json:"adopt,omitempty"`
}

// DeletionPolicy is Orphan or Delete.
type DeletionPolicy string

// Orphan leaves placements and workload as they are. Delete removes them, the last stage first.
const (
	Orphan DeletionPolicy = "Orphan"
	Delete DeletionPolicy = "Delete"
)

// Adoption is a BindingPolicy of a user that a stage takes over.
type Adoption struct {
	BindingPolicy string `json:"bindingPolicy"`
	Stage         string `json:"stage"`
	// Release lets the rollout delete the BindingPolicy once the stage holds its clusters and
	// objects. False: a person does that, and the message says when.
	Release bool `json:"release,omitempty"`
}

// Revisions says how revisions are cut and kept.
type Revisions struct {
	// Settle is how long the source must not have changed before a revision is cut. Default 5s.
	Settle *metav1.Duration `json:"settle,omitempty"`
	// HistoryLimit is how many revisions are kept that no cluster has or needs. Default 5.
	HistoryLimit *int32 `json:"historyLimit,omitempty"`
	// Restore lets the Player write the snapshot of an earlier revision back into the source, where
	// a rollback needs it and the transport holds only what the source holds. It is refused where a
	// GitOps tool manages the objects. Default false: a person restores the source.
	Restore bool `json:"restore,omitempty"`
}

// RequireEvidence is Exact, Ordered or None.
type RequireEvidence string

// Exact asks for reports that carry the revision, Ordered for reports from after its delivery was
// confirmed, None for any report.
const (
	Exact   RequireEvidence = "Exact"
	Ordered RequireEvidence = "Ordered"
	None    RequireEvidence = "None"
)

// Approvals is Annotations or Objects.
type Approvals string

// Annotations lets annotations of the StagedBindingPolicy approve, and StageApprovals too. Objects
// lets only StageApprovals approve.
const (
	Annotations Approvals = "Annotations"
	Objects     Approvals = "Objects"
)

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

// Ignore goes on from the active stage. Restart begins with the first stage again. Under retention
// Keep later stages keep the workload meanwhile, as the edited spec wants it from their turn on.
// Under Move the workload moves back: the clusters of all other stages lose it once the first stage
// has it.
const (
	Ignore  OnChange = "Ignore"
	Restart OnChange = "Restart"
)

// Updates is AtOnce or Staged.
type Updates string

// AtOnce brings a new revision of the workload to all clusters that have it. Staged rolls it out
// stage by stage, and batch by batch: a cluster keeps the revision that it has until its turn comes.
const (
	AtOnce Updates = "AtOnce"
	Staged Updates = "Staged"
)

// Stage is a group of clusters and what must hold there before the next stage.
type Stage struct {
	// Name is unique in the policy. The name of the policy, StageSeparator and Name together must
	// be a label value of at most 63 characters; with MaxConcurrency or PerCluster at most
	// 58.
	Name string `json:"name"`
	// ClusterSelectors choose the clusters: every one that any of them matches. Empty: no cluster.
	ClusterSelectors []metav1.LabelSelector `json:"clusterSelectors,omitempty"`
	// Filter is a CEL expression over downsyncClause, a clause of the Binding. It chooses the
	// objects that Condition is evaluated for; the stage still places all objects. Absent: all.
	Filter string `json:"filter,omitempty"`
	// Condition is a CEL expression over obj, a CombinedStatus. The stage is passed once it is true
	// for every object. Absent: the rollout ends in this stage.
	Condition string `json:"condition,omitempty"`

	// Soak is how long Condition must hold without interruption, in each batch of a stage with
	// MaxConcurrency: ten batches that soak for 30m take at least 5h. Default 0.
	Soak *metav1.Duration `json:"soak,omitempty"`
	// BatchSoak, if it is given, is the soak of each batch but the last; Soak is that of the last.
	BatchSoak *metav1.Duration `json:"batchSoak,omitempty"`
	// Approval says when a person must approve. Absent: never.
	Approval *Approval `json:"approval,omitempty"`
	// Windows say when the stage may be started: within a window without deny, if there is any, and
	// outside all windows with deny.
	Windows []Window `json:"windows,omitempty"`
	// BatchesInWindows says that each batch of the stage may be started in the windows only.
	BatchesInWindows bool `json:"batchesInWindows,omitempty"`
	// ProgressDeadlineSeconds is how many seconds after its delivery the stage, or its latest batch,
	// fails if Condition does not hold by then. Absent: it never fails for that reason.
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`
	// StageDeadlineSeconds is the same for the whole stage: all of its batches must be satisfied by
	// then. Absent: there is no such deadline.
	StageDeadlineSeconds *int32 `json:"stageDeadlineSeconds,omitempty"`
	// DeliveryDeadlineSeconds is how many seconds the delivery to a cluster may take: from when the
	// object that brings the workload to the cluster was observed, to when the cluster was observed to
	// have it. Then the cluster is set aside, which MaxFailures counts. Absent: any time.
	DeliveryDeadlineSeconds *int32 `json:"deliveryDeadlineSeconds,omitempty"`
	// WithdrawFirst says that the clusters have nothing of the workload before the policy brings it,
	// so that a rollback of a first installation may remove it. It matters where the transport
	// cannot see that. Default false.
	WithdrawFirst bool `json:"withdrawFirst,omitempty"`
	// RequireEvidence overrides that of the policy.
	RequireEvidence RequireEvidence `json:"requireEvidence,omitempty"`
	// Gates are objects of the hub that must satisfy a condition before the stage is left.
	Gates []ObjectGate `json:"gates,omitempty"`
	// SortBy is a label. Clusters are divided into batches in the order of its values, then by name;
	// those without it come last.
	SortBy string `json:"sortBy,omitempty"`
	// FailureCondition is a CEL expression like Condition. The stage has failed while it is true
	// for any object.
	FailureCondition string `json:"failureCondition,omitempty"`
	// OnFailure says what happens when the stage has failed. Default Pause.
	OnFailure OnFailure `json:"onFailure,omitempty"`
	// MaxSilent is how many destinations need not have reported the present workload: a number, or
	// a percentage of them, rounded down. At least one destination must have reported. Default 0.
	MaxSilent *intstr.IntOrString `json:"maxSilent,omitempty"`
	// PerCluster gives each cluster of the stage its own BindingPolicy: Condition is evaluated
	// for each cluster, and each has its own time. It excludes MaxConcurrency. Absent:
	// Condition is evaluated for all clusters of the stage, or of a batch, together.
	PerCluster *PerCluster `json:"perCluster,omitempty"`
	// MaxFailures is how many clusters of a stage with PerCluster may be set aside, because they
	// have failed or missed their deadline, before the stage fails: a number, or a percentage of
	// the clusters of the stage, rounded down. At least one cluster must be a success. Default 0.
	MaxFailures *intstr.IntOrString `json:"maxFailures,omitempty"`
	// MaxConcurrency is how many clusters receive the workload at once: a number, or a percentage
	// of the selected clusters, rounded down, at least 1. Condition must hold for each batch before
	// the next one begins. Absent: all clusters at once.
	MaxConcurrency *intstr.IntOrString `json:"maxConcurrency,omitempty"`
	// Paused stops the rollout before it enters the stage, and before it leaves it.
	Paused bool `json:"paused,omitempty"`
	// SkipIfEmpty skips the stage if its selectors match no cluster when it could be started, or
	// all clusters have left it for as long as its soak, at least for a minute. The last stage, once
	// it was started, waits for clusters.
	SkipIfEmpty bool `json:"skipIfEmpty,omitempty"`
	// Guards loosens the checks that are made in addition to Condition. Absent: all checks are made.
	Guards *Guards `json:"guards,omitempty"`
}

// ObjectGate is an object of the hub and a condition over it. It counts only if the object carries
// the name of the revision in the annotation [RevisionAnnotation], or was created after the clusters
// of the stage had the revision applied.
type ObjectGate struct {
	Name       string `json:"name"` // of the gate
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	ObjectName string `json:"objectName"`
	// Condition is a CEL expression over object.
	Condition string `json:"condition"`
}

// PerCluster are the limits of a stage that treats each cluster by itself.
type PerCluster struct {
	// MaxUnavailable is how many of the clusters with the workload, without the ones that are set
	// aside, may be without success at once: a number, or a percentage of the clusters of the
	// stage, rounded down, at least 1. Default 1.
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// ProgressDeadlineSeconds is how many seconds after it received the workload a cluster is set
	// aside if Condition does not hold there. It counts against MaxFailures, until Condition holds.
	// Absent: a cluster is set aside only while FailureCondition is true for it.
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`
	// MinSuccessTime is how long Condition must hold in a cluster, without interruption, before
	// that is a success. Default 0.
	MinSuccessTime *metav1.Duration `json:"minSuccessTime,omitempty"`
}

// Approval says when a person must approve. A person approves with an annotation of the
// StagedBindingPolicy: its name is [ApprovalPrefix] and before.<stage> or after.<stage>, its value
// says who approves. An approval that was seen cannot be taken back.
//
// An approval belongs to a revision: after a change of what OnChange watches, a rollback, or, with
// Updates Staged, of the workload, the annotation must get another value, or be removed and set
// again.
type Approval struct {
	Before bool `json:"before,omitempty"` // before the stage starts
	After  bool `json:"after,omitempty"`  // before the stage is left
	// TimeoutSeconds is how many seconds the rollout waits for a person. Then the rollout is
	// stalled, or, if the approval after the stage is missing, the stage has failed. Absent: it
	// waits forever.
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
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

// OnFailure is Pause, Continue, Rollback, RollbackAll or RollbackBatch.
type OnFailure string

// Pause stays in the stage while it fails. Continue goes on to the next batch or stage. Rollback
// brings the clusters of the stage back to the revision that each of them had, RollbackBatch those of
// the failed batch, and RollbackAll those of all stages that have received the revision.
//
// A rollback removes the workload only from clusters that had none of it before: see
// [Stage].WithdrawFirst. Other clusters without an earlier revision keep what they have. Where the
// transport holds one revision only, clusters keep what they have until the source holds the earlier
// revision again.
const (
	Pause         OnFailure = "Pause"
	Continue      OnFailure = "Continue"
	Rollback      OnFailure = "Rollback"
	RollbackAll   OnFailure = "RollbackAll"
	RollbackBatch OnFailure = "RollbackBatch"
)

// Guards loosens the checks that every stage must pass in addition to its condition.
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
