// Package pods answers the questions that controllers ask of Pods, and makes Pods from templates.
package pods

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/selectors"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// A Pod is an object of the kind Pod. The zero value is no Pod.
type Pod struct{ *unstructured.Unstructured }

// ByNode finds Pods by the Node that they are bound to.
var ByNode = &reconcile.Index{Kind: kinds.Pod, Value: func(obj *unstructured.Unstructured) string { return Pod{obj}.NodeName() }}

// Of returns an object as a Pod.
func Of(obj *unstructured.Unstructured) Pod { return Pod{obj} }

// OfAll returns objects as Pods.
func OfAll(objs []*unstructured.Unstructured) []Pod {
	found := make([]Pod, len(objs))
	for i, obj := range objs {
		found[i] = Pod{obj}
	}
	return found
}

// Claim returns the Pods of an owner that makes them from a template, see [control.Call.Claim]. A
// selector that does not match the template is a final error.
func Claim(c control.Call, owner *unstructured.Unstructured) ([]Pod, error) {
	s := selectors.Of(owner)
	if err := selectors.Validate(owner, s); err != nil {
		return nil, err
	}
	objs, err := c.Claim(kinds.Pod, owner, s)
	return OfAll(objs), err
}

// ClaimActive is like Claim, but does not adopt or release Pods that are terminal or being deleted,
// as ReplicaSets do.
func ClaimActive(c control.Call, owner *unstructured.Unstructured) ([]Pod, error) {
	if err := selectors.Validate(owner, selectors.Of(owner)); err != nil {
		return nil, err
	}
	objs, err := c.ClaimSome(kinds.Pod, owner, func(obj *unstructured.Unstructured) bool { return Pod{obj}.IsActive() })
	return OfAll(objs), err
}

// FromTemplate makes a Pod that an owner controls. Its name is generated from the owner's name.
func FromTemplate(owner *unstructured.Unstructured, template map[string]any) Pod {
	p := control.NewGenerated(kinds.Pod, owner)
	metadata := control.Metadata(p)
	for _, field := range []string{"labels", "annotations"} {
		if m := fields.Map(template, "metadata", field); len(m) > 0 {
			metadata[field] = maps.Clone(m)
		}
	}
	if f := fields.Slice(template, "metadata", "finalizers"); len(f) > 0 {
		metadata["finalizers"] = slices.Clone(f)
	}
	p.Object["spec"] = object.CopyMap(fields.Map(template, "spec"))
	return Pod{p}
}

// Phase returns status.phase.
func (p Pod) Phase() string { return fields.String(p.Object, "status", "phase") }

// NodeName returns the Node that the Pod is bound to, "" if it is not.
func (p Pod) NodeName() string { return fields.String(p.Object, "spec", "nodeName") }

// IsTerminal reports whether all containers have ended for good.
func (p Pod) IsTerminal() bool {
	phase := p.Phase()
	return phase == "Succeeded" || phase == "Failed"
}

// IsTerminating reports whether the Pod is being deleted.
func (p Pod) IsTerminating() bool { return fields.IsTerminating(p.Unstructured) }

// IsActive reports whether the Pod counts as a replica: it is neither terminal nor terminating.
func (p Pod) IsActive() bool { return !p.IsTerminating() && !p.IsTerminal() }

// IsWaiting reports whether the Pod has neither started nor a Node.
func (p Pod) IsWaiting() bool {
	phase := p.Phase()
	return p.NodeName() == "" && (phase == "Pending" || phase == "")
}

// Condition returns the condition with the given type, or nil.
func (p Pod) Condition(kind string) conditions.Condition {
	return conditions.Of(p.Unstructured).Find(kind)
}

// IsReady reports whether the condition Ready is True.
func (p Pod) IsReady() bool { return p.Condition("Ready").IsTrue() }

// readySince returns when the Pod became ready. It is false if it is not ready, or does not say
// since when.
func (p Pod) readySince() (time.Time, bool) {
	c := p.Condition("Ready")
	if !c.IsTrue() {
		return time.Time{}, false
	}
	return fields.Time(c, "lastTransitionTime")
}

// Available reports whether the Pod has been ready for minReadySeconds, and if it is ready but not
// yet available, after which time it will be.
func (p Pod) Available(minReadySeconds int64, now time.Time) (is bool, left time.Duration) {
	if !p.IsReady() {
		return false, 0
	}
	left = p.unavailableFor(minReadySeconds, now)
	return left == 0, left
}

// unavailableFor returns after which time a Pod that is ready is available.
func (p Pod) unavailableFor(minReadySeconds int64, now time.Time) time.Duration {
	if minReadySeconds == 0 {
		return 0
	}
	since, ok := p.readySince()
	if !ok {
		return fields.Seconds(minReadySeconds)
	}
	return max(0, since.Add(fields.Seconds(minReadySeconds)).Sub(now))
}

// FinishedAt returns when the last container of the Pod ended. If not all containers say so, it
// returns when the Pod ceased to be ready, or else when it was deleted, or else when it was
// created.
func (p Pod) FinishedAt() time.Time {
	if at := p.containersFinishedAt(); !at.IsZero() {
		return at
	}
	if ready := p.Condition("Ready"); ready.Field("status") == "False" {
		if t, ok := fields.Time(ready, "lastTransitionTime"); ok {
			return t
		}
	}
	if t, ok := fields.Time(p.Object, "metadata", "deletionTimestamp"); ok {
		return t.Add(-fields.Seconds(fields.Int64(p.Object, 0, "metadata", "deletionGracePeriodSeconds")))
	}
	at, _ := fields.Time(p.Object, "metadata", "creationTimestamp")
	return at
}

// containersFinishedAt returns when the last container ended, or zero if a container has not ended.
func (p Pod) containersFinishedAt() (at time.Time) {
	for _, c := range fields.Maps(p.Object, "status", "containerStatuses") {
		t, ok := fields.Time(c, "state", "terminated", "finishedAt")
		if !ok {
			return time.Time{}
		}
		if t.After(at) {
			at = t
		}
	}
	return at
}
