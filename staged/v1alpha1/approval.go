package v1alpha1

import (
	_ "embed"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ApprovalKind is the kind of a StageApproval.
const ApprovalKind = "StageApproval"

// StageApproval is the decision of a person about a gate of a stage, as its own object, so that
// the right to approve can be given without the right to edit. It is cluster-scoped, and its spec
// cannot be changed.
type StageApproval struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec StageApprovalSpec `json:"spec"`
}

// StageApprovalSpec is what is decided.
type StageApprovalSpec struct {
	Policy string `json:"policy"` // the name of the StagedBindingPolicy
	Stage  string `json:"stage"`
	Gate   string `json:"gate"` // before or after
	// Ticket is the one that the status of the StagedBindingPolicy shows. A decision with another
	// ticket counts for nothing.
	Ticket   string `json:"ticket"`
	Decision string `json:"decision"` // Approve or Reject
	By       string `json:"by,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

//go:embed approval-crd.yaml
var approvalCRD string

// ApprovalCRD returns the manifest of the CustomResourceDefinition of StageApprovals, in YAML.
func ApprovalCRD() string { return approvalCRD }
