package disruption

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
)

// wanted returns how many Pods a budget expects, and how many of them it wants to be healthy.
func wanted(c control.Call, budget *unstructured.Unstructured, selected []pods.Pod) (expected, desired int64, err error) {
	spec := fields.Map(budget.Object, "spec")
	most, least := fields.Value(spec, "maxUnavailable"), fields.Value(spec, "minAvailable")
	if _, percent := least.(string); most == nil && !percent {
		return int64(len(selected)), fields.Int64(spec, 0, "minAvailable"), nil
	}
	expected, err = expectedScale(c, budget, selected)
	if err != nil {
		return 0, 0, err
	}
	part := most
	if most == nil {
		part = least
	}
	n, err := fields.IntOrPercent(part, expected, true)
	switch {
	case err != nil:
		return 0, 0, err
	case most == nil:
		return expected, n, nil
	}
	return expected, max(0, expected-n), nil
}

// expectedScale returns the sum of the replicas that the controllers of Pods ask for. Pods without
// a controller do not count.
func expectedScale(c control.Call, budget *unstructured.Unstructured, selected []pods.Pod) (sum int64, err error) {
	scales, unmanaged := map[types.UID]int64{}, 0
	for _, p := range selected {
		ref := metav1.GetControllerOfNoCopy(p.Unstructured)
		if ref == nil {
			unmanaged++
			continue
		}
		owner, err := scaled(c, p, *ref)
		if err != nil {
			return 0, err
		}
		scales[owner.GetUID()] = fields.Int64(owner.Object, 1, "spec", "replicas")
	}
	for _, n := range scales {
		sum += n
	}
	if unmanaged > 0 {
		c.Record(budget, "Warning", "UnmanagedPods", unmanagedText(budget))
	}
	return sum, nil
}

func unmanagedText(budget *unstructured.Unstructured) string {
	var selector *metav1.LabelSelector // whose text is the text of a Go value
	if m := fields.Map(budget.Object, "spec", "selector"); m != nil {
		selector = &metav1.LabelSelector{}
		_ = runtime.DefaultUnstructuredConverter.FromUnstructured(m, selector) // it was read before
	}
	return fmt.Sprintf("Pods selected by this PodDisruptionBudget (selector: %v) were found "+
		"to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. "+
		"To account for these pods please set \".spec.minAvailable\" field of the PDB to an integer value.", selector)
}

// scalable are the kinds whose objects say how many Pods there should be.
var scalable = []schema.GroupVersionKind{kinds.ReplicationController, kinds.Deployment, kinds.ReplicaSet, kinds.StatefulSet}

// scaled returns the object that says how many Pods like this one there should be: the controller
// of the Pod, or the Deployment of its ReplicaSet.
func scaled(c control.Call, pod pods.Pod, ref metav1.OwnerReference) (*unstructured.Unstructured, error) {
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	if !slices.Contains(scalable, kind) {
		resource := schema.GroupResource{Group: kind.Group, Resource: strings.ToLower(kind.Kind) + "s"}
		return nil, fmt.Errorf("%s does not implement the scale subresource", resource)
	}
	owner := c.Cache.Get(kind, types.NamespacedName{Namespace: pod.GetNamespace(), Name: ref.Name})
	if owner == nil || owner.GetUID() != ref.UID {
		return nil, fmt.Errorf("found no controllers for pod %q", pod.GetName())
	}
	if above := metav1.GetControllerOfNoCopy(owner); kind == kinds.ReplicaSet && above != nil && above.Kind == kinds.Deployment.Kind {
		return scaled(c, pod, *above)
	}
	return owner, nil
}

// deletionTimeout is how long a Pod that was evicted may still be there without being deleted.
const deletionTimeout = 2 * time.Minute

// aboutToGo returns the Pods that were evicted and are not yet being deleted, and after which time
// the first of them counts again.
func aboutToGo(c control.Call, budget *unstructured.Unstructured, selected []pods.Pod) (kept map[string]any, after time.Duration) {
	said := fields.Map(budget.Object, "status", "disruptedPods")
	kept = map[string]any{}
	for _, p := range selected {
		at, found := fields.Time(said, p.GetName())
		if !found || p.IsTerminating() {
			continue
		}
		left := at.Add(deletionTimeout).Sub(c.Now)
		if left <= 0 {
			message := fmt.Sprintf("Pod was expected by PDB %s/%s to be deleted but it wasn't", budget.GetNamespace(), budget.GetNamespace())
			c.Record(p.Unstructured, "Warning", "NotDeleted", message)
			continue
		}
		kept[p.GetName()], after = said[p.GetName()], control.Sooner(after, left)
	}
	return kept, after
}
