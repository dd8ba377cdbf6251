package record

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

// states are the kinds with their own states.
var states = map[schema.GroupKind]func(*unstructured.Unstructured) string{
	{Kind: "Pod"}:                 podState,
	{Kind: "Node"}:                nodeState,
	{Group: "batch", Kind: "Job"}: jobState,
}

// StateOf returns the state of an object, as listed in the package comment.
func StateOf(obj *unstructured.Unstructured) string {
	if of := states[obj.GroupVersionKind().GroupKind()]; of != nil {
		return of(obj)
	}
	phase, _ := object.String(obj.Object, "status", "phase")
	switch ready, is := condition(obj, "Ready"); {
	case terminating(obj):
		return Terminating
	case phase != "":
		return phase
	case is:
		return readiness(ready)
	}
	return Present
}

func podState(obj *unstructured.Unstructured) string {
	phase, _ := object.String(obj.Object, "status", "phase")
	switch {
	case phase == Succeeded || phase == Failed:
		return phase
	case terminating(obj):
		return Terminating
	case phase == Running:
		if ready, _ := condition(obj, "Ready"); ready {
			return Ready
		}
		return Running
	case nodeOf(obj) != "":
		return Scheduled
	}
	return Pending
}

func jobState(obj *unstructured.Unstructured) string {
	complete, _ := condition(obj, "Complete")
	failed, _ := condition(obj, "Failed")
	suspended, _ := object.Bool(obj.Object, "spec", "suspend")
	start, _ := object.String(obj.Object, "status", "startTime")
	switch {
	case complete:
		return Complete
	case failed:
		return Failed
	case terminating(obj):
		return Terminating
	case suspended:
		return Suspended
	case start != "":
		return Running
	}
	return Pending
}

func nodeState(obj *unstructured.Unstructured) string {
	if terminating(obj) {
		return Terminating
	}
	ready, _ := condition(obj, "Ready")
	return readiness(ready)
}

func readiness(is bool) string {
	if is {
		return Ready
	}
	return NotReady
}

// condition reports whether a condition is True, and whether it exists.
func condition(obj *unstructured.Unstructured, kind string) (is, found bool) {
	conditions, _ := object.Slice(obj.Object, "status", "conditions")
	for _, c := range conditions {
		m, _ := object.ToMap(c)
		if t, _ := object.String(m, "type"); t == kind {
			status, _ := object.String(m, "status")
			return status == "True", true
		}
	}
	return false, false
}

func terminating(obj *unstructured.Unstructured) bool {
	at, _ := object.String(obj.Object, "metadata", "deletionTimestamp")
	return at != ""
}

func nodeOf(obj *unstructured.Unstructured) string {
	node, _ := object.String(obj.Object, "spec", "nodeName")
	return node
}

// ownerOf is the controller in the owner references, such as "Job.batch/name".
func ownerOf(obj *unstructured.Unstructured) string {
	refs, _ := object.Slice(obj.Object, "metadata", "ownerReferences")
	for _, r := range refs {
		ref, _ := object.ToMap(r)
		if is, _ := object.Bool(ref, "controller"); !is {
			continue
		}
		version, _ := object.String(ref, "apiVersion")
		kind, _ := object.String(ref, "kind")
		name, _ := object.String(ref, "name")
		gv, _ := schema.ParseGroupVersion(version)
		return kindName(schema.GroupKind{Group: gv.Group, Kind: kind}) + "/" + name
	}
	return ""
}

// kindName is Kind.group, or Kind in the core group.
func kindName(k schema.GroupKind) string {
	if k.Group == "" {
		return k.Kind
	}
	return k.Kind + "." + k.Group
}
