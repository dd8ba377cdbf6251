package player

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

var approvalKind = v1alpha1.GroupVersion.WithKind(v1alpha1.ApprovalKind)

// answers are the objects of the hub that open gates: StageApprovals, and the objects that stages
// name.
type answers struct {
	approvals map[string]v1alpha1.StageApproval // by name
	gates     map[schema.GroupVersionKind]map[types.NamespacedName]*unstructured.Unstructured
}

func newAnswers(kinds []schema.GroupVersionKind) *answers {
	a := &answers{approvals: map[string]v1alpha1.StageApproval{}, gates: map[schema.GroupVersionKind]map[types.NamespacedName]*unstructured.Unstructured{}}
	for _, kind := range kinds {
		a.gates[kind] = map[types.NamespacedName]*unstructured.Unstructured{}
	}
	return a
}

// observe notes an object, and reports whether it may open a gate.
func (a *answers) observe(e watchEvent) (concerns bool, err error) {
	if objects, is := a.gates[e.kind]; is {
		if concerns = true; e.deleted {
			delete(objects, nameOf(e.obj))
		} else {
			objects[nameOf(e.obj)] = e.obj
		}
	}
	if e.kind != approvalKind {
		return concerns, nil
	}
	delete(a.approvals, e.obj.GetName())
	if e.deleted {
		return true, nil
	}
	var object v1alpha1.StageApproval
	if err := convert(e.obj, &object); err != nil {
		return false, err
	}
	a.approvals[object.Name] = object
	return true, nil
}

// show adds to a world what people have decided, and the objects that are gates. Of a kind that the
// Player does not read there is no gate.
func (a *answers) show(v View, w *fleet.World) {
	for _, name := range slices.Sorted(maps.Keys(a.approvals)) {
		s := a.approvals[name].Spec
		if s.Policy == v.Policy.Name() {
			w.Approvals = append(w.Approvals, fleet.Approval{Stage: s.Stage, Gate: s.Gate, Ticket: s.Ticket, By: cmp.Or(s.By, name), Reject: s.Decision == "Reject", Reason: s.Reason})
		}
	}
	for _, stage := range v.Policy.Definition().Spec.Stages {
		for _, g := range stage.Gates {
			objects, read := a.gates[schema.FromAPIVersionAndKind(g.APIVersion, g.Kind)]
			if !read {
				continue
			}
			gate := fleet.Gate{Stage: stage.Name, Name: g.Name}
			if obj := objects[types.NamespacedName{Namespace: g.Namespace, Name: g.ObjectName}]; obj != nil {
				gate.Object = obj.Object
			}
			w.Gates = append(w.Gates, gate)
		}
	}
}
