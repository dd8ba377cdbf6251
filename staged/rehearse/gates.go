package rehearse

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// putGate stores an object that a stage names as a gate, instead of the one before.
func (r *run) putGate(fields map[string]any) error {
	obj, err := copyOf(&unstructured.Unstructured{Object: fields})
	if err != nil {
		return err
	}
	isNamed := func(p *policyRun) bool {
		return slices.ContainsFunc(p.object.Spec.Stages, func(s v1alpha1.Stage) bool {
			return slices.ContainsFunc(s.Gates, func(g v1alpha1.ObjectGate) bool { return isGate(g, obj) })
		})
	}
	if !slices.ContainsFunc(r.policies, isNamed) {
		return fmt.Errorf("no stage names %s as a gate", nameOfObject(obj))
	}
	if at := obj.GetCreationTimestamp(); at.IsZero() {
		obj.SetCreationTimestamp(metav1.NewTime(r.now))
	}
	r.gates = slices.DeleteFunc(slices.Clone(r.gates), func(old *unstructured.Unstructured) bool {
		return old.GroupVersionKind() == obj.GroupVersionKind() && old.GetNamespace() == obj.GetNamespace() && old.GetName() == obj.GetName()
	})
	r.gates = append(r.gates, obj)
	r.record(Entry{Text: nameOfObject(obj) + " is on the hub"})
	return nil
}

// gatesOf returns the objects that the stages of a policy name as gates, as they are now. A player of a
// rehearsal reads objects of all kinds.
func (r *policyRun) gatesOf() (all []fleet.Gate) {
	for _, s := range r.object.Spec.Stages {
		for _, g := range s.Gates {
			gate := fleet.Gate{Stage: s.Name, Name: g.Name}
			for _, obj := range r.gates {
				if isGate(g, obj) {
					gate.Object = obj.Object
				}
			}
			all = append(all, gate)
		}
	}
	return all
}

func isGate(g v1alpha1.ObjectGate, obj *unstructured.Unstructured) bool {
	return g.APIVersion == obj.GetAPIVersion() && g.Kind == obj.GetKind() && g.Namespace == obj.GetNamespace() && g.ObjectName == obj.GetName()
}

// nameOfObject is what texts call an object.
func nameOfObject(obj *unstructured.Unstructured) string {
	return obj.GetKind() + " " + strings.TrimPrefix(obj.GetNamespace()+"/"+obj.GetName(), "/")
}
