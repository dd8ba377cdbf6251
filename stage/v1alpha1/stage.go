package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Group, Version and Kind name the Stage resource. Stages are cluster-scoped.
const (
	Group   = "kwok.x-k8s.io"
	Version = "v1alpha1"
	Kind    = "Stage"
)

// Stage says which objects it applies to, after what delay, and what happens to them then.
type Stage struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   StageSpec   `json:"spec"`
	Status StageStatus `json:"status,omitempty"`
}

// StageList is a list of Stages as the API server returns it.
type StageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Stage `json:"items"`
}

// StageStatus is the status that a controller writes for a Stage.
type StageStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// StageSpec is the definition of a Stage.
type StageSpec struct {
	// ResourceRef names the kind of object the Stage is for.
	ResourceRef StageResourceRef `json:"resourceRef"`
	// Selector chooses objects of the kind. An absent selector matches no object, an empty one
	// matches all.
	Selector *StageSelector `json:"selector,omitempty"`
	// Weight is the share of this Stage among all Stages that match an object; not negative.
	Weight int `json:"weight,omitempty"`
	// WeightFrom reads the weight from the object; Weight is the fallback.
	WeightFrom *ExpressionFrom `json:"weightFrom,omitempty"`
	// Delay is the time between entering the Stage and its effects. Absent: none.
	Delay *StageDelay `json:"delay,omitempty"`
	// Next is the legacy form of the effects. It is ignored if Steps are given.
	Next *StageNext `json:"next,omitempty"`
	// Steps are the effects, in order.
	Steps []StageStep `json:"steps,omitempty"`
	// ImmediateNextStage evaluates the patched object at once, without waiting for the watch event.
	ImmediateNextStage *bool `json:"immediateNextStage,omitempty"`
}

// StageResourceRef names a kind.
type StageResourceRef struct {
	// APIGroup is a groupVersion, such as "v1" or "apps/v1". Default "v1".
	APIGroup string `json:"apiGroup,omitempty"`
	// Kind is required.
	Kind string `json:"kind"`
}

// StageSelector is a conjunction of requirements.
type StageSelector struct {
	MatchLabels      map[string]string `json:"matchLabels,omitempty"`
	MatchAnnotations map[string]string `json:"matchAnnotations,omitempty"`
	MatchExpressions []MatchExpression `json:"matchExpressions,omitempty"`
}

// MatchExpression is one requirement: CEL, JQ or the legacy triple.
type MatchExpression struct {
	CEL *ExpressionCEL `json:"cel,omitempty"`
	JQ  *SelectorJQ    `json:"jq,omitempty"`

	// Key, Operator and Values are the legacy form of JQ.
	Key      string           `json:"key,omitempty"`
	Operator SelectorOperator `json:"operator,omitempty"`
	Values   []string         `json:"values,omitempty"`
}

// SelectorJQ compares the outputs of a jq program with values.
type SelectorJQ struct {
	Key      string           `json:"key"`
	Operator SelectorOperator `json:"operator"`
	Values   []string         `json:"values,omitempty"`
}

// SelectorOperator relates the outputs of a jq program to values. It is case-sensitive.
type SelectorOperator string

// The operators: In and NotIn need values, Exists and DoesNotExist have none.
const (
	SelectorOpIn           SelectorOperator = "In"
	SelectorOpNotIn        SelectorOperator = "NotIn"
	SelectorOpExists       SelectorOperator = "Exists"
	SelectorOpDoesNotExist SelectorOperator = "DoesNotExist"
)

// ExpressionFrom takes a value from the object: CEL, JQ or the legacy ExpressionFrom, which is jq
// too.
type ExpressionFrom struct {
	CEL            *ExpressionCEL `json:"cel,omitempty"`
	JQ             *ExpressionJQ  `json:"jq,omitempty"`
	ExpressionFrom string         `json:"expressionFrom,omitempty"`
}

// ExpressionCEL is a CEL expression over the variable self, the object.
type ExpressionCEL struct {
	Expression string `json:"expression"`
}

// ExpressionJQ is a jq program over the object.
type ExpressionJQ struct {
	Expression string `json:"expression"`
}

// StageDelay is the time from entering a Stage to its effects.
type StageDelay struct {
	// DurationMilliseconds is the fallback of DurationFrom. Default 0.
	DurationMilliseconds *int64          `json:"durationMilliseconds,omitempty"`
	DurationFrom         *ExpressionFrom `json:"durationFrom,omitempty"`

	// JitterDurationMilliseconds is the upper bound of the delay, not an addend. Absent: no jitter.
	JitterDurationMilliseconds *int64          `json:"jitterDurationMilliseconds,omitempty"`
	JitterDurationFrom         *ExpressionFrom `json:"jitterDurationFrom,omitempty"`
}

// StageNext is the legacy form of the effects.
type StageNext struct {
	Event      *StageEvent      `json:"event,omitempty"`
	Finalizers *StageFinalizers `json:"finalizers,omitempty"`
	Delete     bool             `json:"delete,omitempty"`
	Patches    []StagePatch     `json:"patches,omitempty"`

	// StatusTemplate is a patch of root status. Patches win over it.
	StatusTemplate string `json:"statusTemplate,omitempty"`
	// StatusSubresource is the subresource of the StatusTemplate patch. Default "status"; "" is the
	// main resource.
	StatusSubresource *string `json:"statusSubresource,omitempty"`
	// StatusPatchAs is the user who sends the StatusTemplate patch.
	StatusPatchAs *ImpersonationConfig `json:"statusPatchAs,omitempty"`
}

// StageStep is one step of the effects. Within a step: event, finalizers, then delete, else patch,
// then apply.
type StageStep struct {
	Event      *StageEvent      `json:"event,omitempty"`
	Finalizers *StageFinalizers `json:"finalizers,omitempty"`
	Delete     bool             `json:"delete,omitempty"`
	Patch      *StagePatch      `json:"patch,omitempty"`
	Apply      *StageApply      `json:"apply,omitempty"`
}

// StageEvent is an Event about the object.
type StageEvent struct {
	// Type is Normal or Warning.
	Type    string `json:"type,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// StageFinalizers changes metadata.finalizers.
type StageFinalizers struct {
	Add    []FinalizerItem `json:"add,omitempty"`
	Remove []FinalizerItem `json:"remove,omitempty"`
	// Empty removes all finalizers and wins over Remove.
	Empty bool `json:"empty,omitempty"`
}

// FinalizerItem is one finalizer.
type FinalizerItem struct {
	Value string `json:"value,omitempty"`
}

// StagePatch patches the object.
type StagePatch struct {
	Subresource string `json:"subresource,omitempty"`
	// Root is the field under which the rendered template is put.
	Root string `json:"root,omitempty"`
	// Template is a text/template whose result is YAML.
	Template string `json:"template,omitempty"`
	// Type is json, merge or strategic. Absent: strategic for v1 Pod and Node, else merge.
	Type          *StagePatchType      `json:"type,omitempty"`
	Impersonation *ImpersonationConfig `json:"impersonation,omitempty"`
}

// StageApply creates or applies an object, mostly another one.
type StageApply struct {
	// Template is a text/template whose result is the object in YAML, with apiVersion and kind.
	Template    string `json:"template,omitempty"`
	Subresource string `json:"subresource,omitempty"`
	// Type is apply, merge or strategic. Absent: apply.
	Type          *StagePatchType      `json:"type,omitempty"`
	Impersonation *ImpersonationConfig `json:"impersonation,omitempty"`
}

// StagePatchType names how a patch is applied.
type StagePatchType string

// The patch types.
const (
	StagePatchTypeJSONPatch           StagePatchType = "json"
	StagePatchTypeMergePatch          StagePatchType = "merge"
	StagePatchTypeStrategicMergePatch StagePatchType = "strategic"
	StagePatchTypeApply               StagePatchType = "apply"
)

// ImpersonationConfig names the user who sends an effect.
type ImpersonationConfig struct {
	Username string `json:"username"`
}
