package fault

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/nodes"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

// Label sets a label, and restores its old value at the end or removes it. The Stages of
// presets.PodChaos and presets.NodeChaos select objects by labels.
func Label(key, value string) Fault { return metadata("labels", map[string]any{key: value}) }

// Annotation sets an annotation, and restores its old value at the end or removes it. Stages can
// read values, such as delays, from annotations.
func Annotation(key, value string) Fault { return metadata("annotations", map[string]any{key: value}) }

// Slow makes a Stage take d, including jitter, and restores the old delay at the end. If d is
// years, the Stage is stuck. It also applies to an object that is already waiting in the Stage. The
// Stage must read its delay from the annotations NAME.stage.kwok.x-k8s.io/delay and …/jitter-delay,
// like the Stages of package stage/presets.
func Slow(stage string, d time.Duration) Fault {
	prefix := stage + ".stage.kwok.x-k8s.io/"
	return metadata("annotations", map[string]any{prefix + "delay": d.String(), prefix + "jitter-delay": d.String()})
}

// metadata sets labels or annotations, and restores them at the end.
func metadata(field string, values map[string]any) Fault {
	set := func(ctx context.Context, s Target, values map[string]any) error {
		return s.merge(ctx, map[string]any{"metadata": map[string]any{field: values}})
	}
	return Fault{
		Begin: func(ctx context.Context, s Target) error { return set(ctx, s, values) },
		End: func(ctx context.Context, s Target) error {
			before := make(map[string]any, len(values))
			for key := range values {
				before[key], _ = object.Get(s.Object.Object, "metadata", field, key)
			}
			return set(ctx, s, before)
		},
	}
}

// current returns the object as it is now; nil if another object has its name.
func (s Target) current(ctx context.Context) (*unstructured.Unstructured, error) {
	now, err := s.Cluster.Get(ctx, s.Object.GroupVersionKind(), nameOf(s.Object))
	if err != nil || now.GetUID() != s.Object.GetUID() {
		return nil, err
	}
	return now, nil
}

// merge sends a merge patch for the object, unless another object has its name.
func (s Target) merge(ctx context.Context, change map[string]any, subresources ...string) error {
	if now, err := s.current(ctx); now == nil {
		return err
	}
	data, err := json.Marshal(change)
	if err != nil {
		return err
	}
	o := metav1.PatchOptions{FieldManager: "fault"}
	_, err = s.Cluster.Patch(ctx, s.Object.GroupVersionKind(), nameOf(s.Object), types.MergePatchType, data, o, subresources...)
	return err
}

func nameOf(obj *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// Condition sets a condition from True to False, and back to True at the end if it still exists. A
// plan with many arrivals makes readiness flap. A Stage can undo the change at once:
// presets.NodeFast makes nodes ready again, so use presets.NodeChaos for nodes.
func Condition(name string) Fault {
	turn := func(to string) func(context.Context, Target) error {
		return func(ctx context.Context, s Target) error {
			now, err := s.current(ctx)
			if now == nil {
				return err
			}
			conditions, found := withCondition(now, name, to, s.Now)
			if !found {
				return nil
			}
			return s.merge(ctx, map[string]any{"status": map[string]any{"conditions": conditions}}, "status")
		}
	}
	return Fault{Begin: turn("False"), End: turn("True")}
}

// withCondition returns the conditions of an object with the status of one changed.
func withCondition(obj *unstructured.Unstructured, name, to string, now time.Time) ([]any, bool) {
	conditions, _ := object.Slice(obj.Object, "status", "conditions")
	conditions = slices.Clone(conditions)
	for i, v := range conditions {
		c, _ := object.ToMap(v)
		if c["type"] == name && c["status"] != to {
			c = maps.Clone(c)
			c["status"], c["lastTransitionTime"] = to, now.UTC().Format(time.RFC3339)
			conditions[i] = c
			return conditions, true
		}
	}
	return conditions, false
}

// StopKubelet stops the kubelet of a Node, as if the machine were off or cut off: it sends no
// heartbeats and does nothing for its Pods. After 50 seconds the Node is unreachable. After 5 more
// minutes its Pods are evicted; they are gone when the kubelet runs again, or the Node is deleted.
// It needs the controllers of package stage/lab/controllers/nodes, and nodes.KubeletRuns and
// controllers.Bound in the options of the simulation.
func StopKubelet() Fault { return Annotation(nodes.Kubelet, nodes.Stopped) }

// Remove deletes an object, and creates it again at the end unless something else has done so. The
// new object has the capacity and allocatable resources of the old one and no other status. The Pods
// of a Node that is deleted stay until the Pod garbage collector deletes them (nodes.PodGC), after
// 40 to 60 seconds.
func Remove() Fault {
	return Fault{
		Begin: func(ctx context.Context, s Target) error {
			return s.Cluster.Delete(ctx, s.Object.GroupVersionKind(), nameOf(s.Object), immediately(s.Object))
		},
		End: func(ctx context.Context, s Target) error {
			data, err := json.Marshal(recreated(s.Object).Object)
			if err != nil {
				return err
			}
			if _, err := s.Cluster.Get(ctx, s.Object.GroupVersionKind(), nameOf(s.Object)); !apierrors.IsNotFound(err) {
				return err // it is there
			}
			return s.Cluster.Load(ctx, data)
		},
	}
}

// immediately deletes without a grace period, and only this object, not another one with its name.
func immediately(obj *unstructured.Unstructured) metav1.DeleteOptions {
	uid := obj.GetUID()
	return metav1.DeleteOptions{GracePeriodSeconds: new(int64), Preconditions: &metav1.Preconditions{UID: &uid}}
}

// recreated is an object as it would be created again.
func recreated(obj *unstructured.Unstructured) *unstructured.Unstructured {
	again := obj.DeepCopy()
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink"} {
		unstructured.RemoveNestedField(again.Object, "metadata", field)
	}
	status, _ := object.Map(again.Object, "status")
	maps.DeleteFunc(status, func(name string, _ any) bool { return name != "capacity" && name != "allocatable" })
	if len(status) == 0 {
		unstructured.RemoveNestedField(again.Object, "status")
	}
	return again
}
