package policies

import (
	"slices"
	"strings"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/rules"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

func mutatingBindingFaults(v *memory.Review) (field.ErrorList, error) {
	given := &admissionregistration.ValidatingAdmissionPolicyBinding{} // has the same fields, and more
	err := read(v.New, given)
	path := field.NewPath("spec")
	return append(checkBinding(&given.Spec, path), checkOperations(given.Spec.MatchResources, path.Child("matchResources"))...), err
}

func (x *Index) mutatingFaults(v *memory.Review) (field.ErrorList, error) {
	given, err := readMutatingSpec(v.New)
	if err != nil {
		return nil, err
	}
	before := &mutatingSpec{}
	if v.Old != nil {
		if before, err = readMutatingSpec(v.Old); err != nil {
			return nil, err
		}
	}
	c := checker{Compiler: x.compiler, name: v.Name.Name, spec: &given.ValidatingAdmissionPolicySpec, before: &before.ValidatingAdmissionPolicySpec}
	expressions, err := c.expressions()
	if err != nil {
		return nil, err
	}
	for _, m := range before.Mutations {
		for _, e := range []*expression{m.JSONPatch, m.ApplyConfiguration} {
			if e != nil {
				expressions.known[e.Expression] = true
			}
		}
	}
	path := field.NewPath("spec")
	faults := c.checkCommon(expressions, path)
	return append(faults, given.check(expressions, path)...), nil
}

// check checks what only policies that change objects have.
func (s *mutatingSpec) check(x *expressions, path *field.Path) (faults field.ErrorList) {
	faults = checkOperations(s.MatchConstraints, path.Child("matchConstraints"))
	if len(s.Mutations) == 0 {
		faults = append(faults, field.Required(path.Child("mutations"), "mutations must contain at least one item"))
	}
	for i, m := range s.Mutations {
		faults = append(faults, m.check(x, path.Child("mutations").Index(i))...)
	}
	if s.ReinvocationPolicy == "" {
		return append(faults, field.Required(path.Child("reinvocationPolicy"), ""))
	}
	policy := admissionregistration.ReinvocationPolicyType(s.ReinvocationPolicy)
	return append(faults, rules.OneOf(&policy, path.Child("reinvocationPolicy"), admissionregistration.IfNeededReinvocationPolicy, admissionregistration.NeverReinvocationPolicy)...)
}

// mutable are the operations whose objects can be changed.
var mutable = []string{"*", "CONNECT", "CREATE", "UPDATE"}

func checkOperations(m *admissionregistration.MatchResources, path *field.Path) (faults field.ErrorList) {
	if m == nil {
		return nil
	}
	for _, r := range m.ResourceRules {
		for _, o := range r.Operations {
			if !slices.Contains(mutable, string(o)) {
				faults = append(faults, field.NotSupported(path.Child("resourceRules", "operations"), o, mutable))
			}
		}
	}
	return faults
}

func (m mutationSpec) check(x *expressions, path *field.Path) field.ErrorList {
	jsonPatch, configuration := path.Child("jsonPatch"), path.Child("applyConfiguration")
	switch m.PatchType {
	case "":
		return field.ErrorList{field.Required(path.Child("patchType"), "")}
	case "JSONPatch":
		faults := m.JSONPatch.check(x, m.PatchType, jsonPatch)
		if m.ApplyConfiguration != nil {
			faults = append(faults, field.Invalid(configuration, "{applyConfiguration}", "must not be specified when patchType is JSONPatch"))
		}
		return faults
	case "ApplyConfiguration":
		faults := m.ApplyConfiguration.check(x, m.PatchType, configuration)
		if m.JSONPatch != nil {
			faults = append(faults, field.Invalid(jsonPatch, "{jsonPatch}", "must not be specified when patchType is ApplyConfiguration"))
		}
		return faults
	}
	return field.ErrorList{field.NotSupported(path.Child("patchType"), m.PatchType, []string{"ApplyConfiguration", "JSONPatch"})}
}

// check compiles the expression of a mutation of a type.
func (e *expression) check(x *expressions, patchType string, path *field.Path) field.ErrorList {
	if e == nil {
		return field.ErrorList{field.Required(path, "must be specified when patchType is "+patchType)}
	}
	at, text := path.Child("expression"), strings.TrimSpace(e.Expression)
	if text == "" {
		return field.ErrorList{field.Required(at, "")}
	}
	var accessor cel.ExpressionAccessor = &patch.JSONPatchCondition{Expression: text}
	if patchType == "ApplyConfiguration" {
		accessor = &patch.ApplyConfigurationCondition{Expression: text}
	}
	declared := cel.OptionalVariableDeclarations{HasParams: x.hasParams, HasAuthorizer: true, HasPatchTypes: true}
	result := x.composed.CompileCELExpression(accessor, declared, x.mode(e.Expression))
	return append(rules.Faults(result.Error, text, at), rules.Patterns(text, at)...)
}
