package workloads

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// recordPod records an action on a Pod. The verb is used in the reason and in the text.
func (r *statefulRun) recordPod(verb, pod string, err error) {
	text := fmt.Sprintf("%s Pod %s in StatefulSet %s", verb, pod, r.set.GetName())
	if err != nil {
		r.Record(r.set, "Warning", "Failed"+verb, text+" failed error: "+err.Error())
		return
	}
	r.Record(r.set, "Normal", "Successful"+verb, text+" successful")
}

// recordClaim records that a claim was created for a Pod.
func (r *statefulRun) recordClaim(claim, pod string, err error) {
	set := r.set.GetName()
	if err != nil {
		r.Record(r.set, "Warning", "FailedCreate", fmt.Sprintf("Create Claim %s for Pod %s in StatefulSet %s failed error: %s", claim, pod, set, err))
		return
	}
	r.Record(r.set, "Normal", "SuccessfulCreate", fmt.Sprintf("Create Claim %s Pod %s in StatefulSet %s success", claim, pod, set))
}

// deletePod deletes a Pod and records it.
func (r *statefulRun) deletePod(pod *unstructured.Unstructured) error {
	err := r.Delete(pod)
	r.recordPod("Delete", pod.GetName(), err)
	return err
}

// createClaim creates a claim of a Pod and records it. An existing claim is not an error.
func (r *statefulRun) createClaim(claim *unstructured.Unstructured, pod string) error {
	_, err := r.Create(claim)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	r.recordClaim(claim.GetName(), pod, err)
	if err != nil {
		return fmt.Errorf("failed to create PVC %s: %w", claim.GetName(), err)
	}
	return nil
}
