package labtest

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
)

// Evict evicts a Pod. It uses only the namespace and the name of the object. The error is
// TooManyRequests (429) if a PodDisruptionBudget does not allow the eviction.
func (l *Lab) Evict(pod runtime.Object) error {
	l.t.Helper()
	u, err := kstatustest.Open(pod)
	l.must(err)
	return l.Cluster().Evict(context.Background(), referenceOf(u).NamespacedName, metav1.DeleteOptions{})
}

// drainPeriod is the time after which kubectl drain tries again to evict a Pod.
const drainPeriod = 5 * time.Second

// Drain makes a Node unschedulable and evicts its Pods, except Pods of DaemonSets and Pods that
// have ended. Like kubectl drain, it tries again every 5 seconds while budgets do not allow an
// eviction, and waits until the Pods are gone. It fails the test if the drain takes longer than
// Options.Timeout.
func (l *Lab) Drain(node runtime.Object) {
	l.t.Helper()
	u, err := kstatustest.Open(node)
	l.must(err)
	ref := referenceOf(u)
	_, err = l.patch(ref, types.MergePatchType, map[string]any{"spec": map[string]any{"unschedulable": true}})
	l.must(err)
	for end := l.Now().Add(l.options.Timeout); ; {
		left := l.podsToEvict(ref.Name)
		if len(left) == 0 {
			return
		}
		refusal := l.evictAll(left)
		if l.Now().After(end) {
			l.t.Fatalf("labtest: Node %s is not drained after %s: there is still %s (%v)", ref.Name, l.options.Timeout, referenceOf(left[0]), refusal)
		}
		l.Advance(drainPeriod)
	}
}

// podsToEvict returns the Pods of a Node that a drain waits for.
func (l *Lab) podsToEvict(node string) []*unstructured.Unstructured {
	return slices.DeleteFunc(l.List("v1", "Pod", ""), func(pod *unstructured.Unstructured) bool {
		on, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName")
		phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
		owner := metav1.GetControllerOf(pod)
		return on != node || phase == "Succeeded" || phase == "Failed" || owner != nil && owner.Kind == "DaemonSet"
	})
}

// evictAll evicts those Pods that are not being deleted, and returns the last refusal.
func (l *Lab) evictAll(pods []*unstructured.Unstructured) (refusal error) {
	l.t.Helper()
	for _, pod := range pods {
		if pod.GetDeletionTimestamp() != nil {
			continue
		}
		err := l.Evict(pod)
		if apierrors.IsTooManyRequests(err) {
			refusal = err
		} else if !apierrors.IsNotFound(err) {
			l.must(err)
		}
	}
	return refusal
}
