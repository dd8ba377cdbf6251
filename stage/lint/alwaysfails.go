package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/itchyny/gojq"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// alwaysFails finds expressions that fail on every object. An example is jq that assigns to a
// function instead of comparing: .status.conditions.[type="Ready"].
func alwaysFails(s *checkedStage) []fault {
	var faults []fault
	for _, r := range s.requirements {
		if at := listWithField(s.kind, r.path); at > 0 {
			list := "." + strings.Join(r.path.fields()[:at], ".")
			faults = append(faults, fieldFault(r.at, "write "+list+itemOf(list, r.path[at].field),
				"%s is a list, which has no field %s: where there is one jq fails, so In and Exists never hold, NotIn and DoesNotExist always do", list, r.path[at].field))
		}
	}
	for _, e := range s.expressions {
		message := s.failsAlways(e)
		if message == "" {
			continue
		}
		if name := assignedIn(e); name != "" {
			at := max(0, strings.Index(e.text, name))
			faults = append(faults, fault{e.path, at, "jq assigns to the function " + name + " here, which fails on every object: " + e.consequence(),
				"to choose an item of a list write .list[] | select(." + name + " == \"…\")"})
			continue
		}
		faults = append(faults, fieldFault(e.path, "stage.Set.Explain shows what it gives on an object", "it fails on every object, so %s: %s", e.consequence(), message))
	}
	return faults
}

// listFields are lists of all kinds, and of Pods. The conditions are the conditions of built-in
// kinds.
var (
	listFields = strings.Fields(`metadata.ownerReferences metadata.finalizers metadata.managedFields status.conditions`)
	podLists   = strings.Fields(`spec.containers spec.initContainers spec.ephemeralContainers spec.volumes spec.tolerations spec.readinessGates
		spec.schedulingGates spec.imagePullSecrets spec.topologySpreadConstraints spec.hostAliases status.containerStatuses
		status.initContainerStatuses status.ephemeralContainerStatuses status.podIPs status.hostIPs`)
)

// listWithField is the length of the part of a path that is a list, if the path goes on with a field
// as if it were an object; else 0.
func listWithField(kind schema.GroupVersionKind, p path) int {
	if len(p) < 3 || p[2].field == "" {
		return 0
	}
	name := p[0].field + "." + p[1].field
	isList := slices.Contains(listFields, name) && (p[0].field == "metadata" || !isCustom(kind.Group))
	if isList || kind.Group == "" && kind.Kind == "Pod" && slices.Contains(podLists, name) {
		return 2
	}
	return 0
}

// itemOf chooses items of a list in jq, by the name of their field or, of a condition, its type.
func itemOf(list, name string) string {
	if list == ".status.conditions" && strings.ToLower(name) != name {
		return fmt.Sprintf("[] | select(.type == %q) | .status", name)
	}
	return "[]." + name
}

// consequence is what follows if the expression fails.
func (e expression) consequence() string {
	switch {
	case e.selects && e.cel:
		return "it never holds"
	case e.selects:
		return "In and Exists never hold, NotIn and DoesNotExist always do"
	default:
		return "it gives no value"
	}
}

// assignedIn returns the name of a function that jq assigns to; "" without an assignment.
func assignedIn(e expression) string {
	if e.cel {
		return ""
	}
	q, err := gojq.Parse(e.text)
	if err != nil {
		return ""
	}
	return assignedFunction(q)
}

// assignedFunction returns the name of a function without arguments that a program assigns to; ""
// without such an assignment.
func assignedFunction(q *gojq.Query) string {
	if q == nil {
		return ""
	}
	if q.Op == gojq.OpAssign && q.Left.Term != nil && q.Left.Term.Func != nil && len(q.Left.Term.Func.Args) == 0 && len(q.Left.Term.SuffixList) == 0 {
		return q.Left.Term.Func.Name
	}
	for _, part := range append(partsOf(q.Term), q.Left, q.Right) {
		if name := assignedFunction(part); name != "" {
			return name
		}
	}
	return ""
}

// partsOf are the programs within a term: in parentheses, and in its indices.
func partsOf(t *gojq.Term) []*gojq.Query {
	if t == nil {
		return nil
	}
	parts := []*gojq.Query{t.Query}
	if t.Index != nil {
		parts = append(parts, t.Index.Start, t.Index.End)
	}
	for _, suffix := range t.SuffixList {
		if suffix.Index != nil {
			parts = append(parts, suffix.Index.Start, suffix.Index.End)
		}
	}
	return parts
}
