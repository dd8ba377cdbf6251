package policies

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	pathvalidation "k8s.io/apimachinery/pkg/api/validation/path"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/util/jsonpath"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/rules"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// validate refuses a policy or a binding that is not valid.
func (x *Index) validate(v *memory.Review) error {
	var faults field.ErrorList
	var err error
	switch {
	case v.Kind == bindingKind && isChanged(v, "spec"):
		faults, err = bindingFaults(v)
	case v.Kind == mutatingBindingKind && isChanged(v, "spec"):
		faults, err = mutatingBindingFaults(v)
	case v.Kind == mutatingKind && isChanged(v, "spec"):
		faults, err = x.mutatingFaults(v)
	case v.Kind == policyKind && v.Subresource == "status":
		faults, err = statusFaults(v)
	case v.Kind == policyKind && isChanged(v, "spec"):
		faults, err = x.policyFaults(v)
	}
	switch {
	case err != nil:
		return apierrors.NewBadRequest(err.Error())
	case len(faults) == 0:
		return nil
	}
	return apierrors.NewInvalid(v.Kind.GroupKind(), v.Name.Name, faults)
}

// isChanged reports whether a write changes a field. Validation takes long.
func isChanged(v *memory.Review, field string) bool {
	return v.Old == nil || !reflect.DeepEqual(v.Old.Object[field], v.New.Object[field])
}

func bindingFaults(v *memory.Review) (field.ErrorList, error) {
	given := &admissionregistration.ValidatingAdmissionPolicyBinding{}
	err := read(v.New, given)
	path := field.NewPath("spec")
	return append(checkBinding(&given.Spec, path), checkActions(given.Spec.ValidationActions, path.Child("validationActions"))...), err
}

func (x *Index) policyFaults(v *memory.Review) (field.ErrorList, error) {
	given, before := &admissionregistration.ValidatingAdmissionPolicy{}, &admissionregistration.ValidatingAdmissionPolicy{}
	if err := read(v.New, given); err != nil {
		return nil, err
	}
	if v.Old != nil {
		if err := read(v.Old, before); err != nil {
			return nil, err
		}
	}
	c := checker{Compiler: x.compiler, name: given.Name, spec: &given.Spec, before: &before.Spec}
	return c.check(field.NewPath("spec"))
}

func statusFaults(v *memory.Review) (faults field.ErrorList, err error) {
	given := &admissionregistration.ValidatingAdmissionPolicy{}
	if err := read(v.New, given); err != nil {
		return nil, err
	}
	path := field.NewPath("status")
	if types := given.Status.TypeChecking; types != nil {
		for i, w := range types.ExpressionWarnings {
			faults = append(faults, checkWarning(w, path.Child("typeChecking", "expressionWarnings").Index(i))...)
		}
	}
	return append(faults, metav1validation.ValidateConditions(given.Status.Conditions, path.Child("conditions"))...), nil
}

func checkWarning(w admissionregistration.ExpressionWarning, path *field.Path) (faults field.ErrorList) {
	if w.Warning == "" {
		faults = append(faults, field.Required(path.Child("warning"), ""))
	}
	ref, at := strings.TrimSpace(w.FieldRef), path.Child("fieldRef")
	if ref == "" {
		return append(faults, field.Required(at, ""))
	}
	if err := jsonpath.New("spec").Parse("{" + ref + "}"); err != nil {
		faults = append(faults, field.Invalid(at, ref, fmt.Sprintf("invalid JSONPath: %v", err)))
	}
	return faults
}

// A checker checks a policy.
type checker struct {
	*rules.Compiler
	name         string
	spec, before *admissionregistration.ValidatingAdmissionPolicySpec // before: as it was, or empty
}

func (c checker) check(path *field.Path) (faults field.ErrorList, err error) {
	expressions, err := c.expressions()
	if err != nil {
		return nil, err
	}
	return append(c.checkCommon(expressions, path), c.checkValidations(expressions, path)...), nil
}

// checkCommon checks what policies of both kinds have.
func (c checker) checkCommon(expressions *expressions, path *field.Path) (faults field.ErrorList) {
	faults = append(faults, rules.OneOf(c.spec.FailurePolicy, path.Child("failurePolicy"), admissionregistration.Fail, admissionregistration.Ignore)...)
	if c.spec.ParamKind != nil {
		faults = append(faults, checkParamKind(*c.spec.ParamKind, path.Child("paramKind"))...)
	}
	if constraints := path.Child("matchConstraints"); c.spec.MatchConstraints == nil {
		faults = append(faults, field.Required(constraints, ""))
	} else {
		faults = append(faults, checkMatchResources(c.spec.MatchConstraints, constraints)...)
		if len(c.spec.MatchConstraints.ResourceRules) == 0 {
			faults = append(faults, field.Required(constraints.Child("resourceRules"), ""))
		}
	}
	if !reflect.DeepEqual(c.spec.ParamKind, c.before.ParamKind) || !reflect.DeepEqual(c.spec.MatchConditions, c.before.MatchConditions) {
		faults = append(faults, c.conditions(c.spec.MatchConditions, path.Child("matchConditions"))...)
	}
	for i, v := range c.spec.Variables {
		faults = append(faults, expressions.checkVariable(v, path.Child("variables").Index(i))...)
	}
	return faults
}

// mostAnnotations is how many auditAnnotations a policy may have.
const mostAnnotations = 20

// conditions returns the faults of matchConditions, which know no variables.
func (c checker) conditions(all []admissionregistration.MatchCondition, path *field.Path) field.ErrorList {
	known := map[string]bool{}
	for _, m := range c.before.MatchConditions {
		known[m.Expression] = true
	}
	return c.Check(rules.Conditions{All: all, HasParams: c.spec.ParamKind != nil, Known: known}, path)
}

func (c checker) checkValidations(expressions *expressions, path *field.Path) (faults field.ErrorList) {
	validations, annotations := path.Child("validations"), path.Child("auditAnnotations")
	if len(c.spec.Validations) == 0 && len(c.spec.AuditAnnotations) == 0 {
		const none = "validations or auditAnnotations must contain at least one item"
		return field.ErrorList{field.Required(validations, none), field.Required(annotations, none)}
	}
	for i, v := range c.spec.Validations {
		faults = append(faults, expressions.checkValidation(v, validations.Index(i))...)
	}
	if len(c.spec.AuditAnnotations) > mostAnnotations {
		faults = append(faults, field.Invalid(annotations, c.spec.AuditAnnotations, fmt.Sprintf("must not have more than %d auditAnnotations", mostAnnotations)))
	}
	seen := map[string]bool{}
	for i, a := range c.spec.AuditAnnotations {
		faults = append(faults, expressions.checkAnnotation(c.name, a, annotations.Index(i))...)
		if seen[a.Key] {
			faults = append(faults, field.Duplicate(annotations.Index(i).Child("key"), a.Key))
		}
		seen[a.Key] = true
	}
	return faults
}

func checkParamKind(kind admissionregistration.ParamKind, path *field.Path) (faults field.ErrorList) {
	faults = append(faults, checkVersion(kind.APIVersion, path.Child("apiVersion"))...)
	if kind.Kind == "" {
		return append(faults, field.Required(path.Child("kind"), ""))
	}
	if all := utilvalidation.IsDNS1035Label(strings.ToLower(kind.Kind)); len(all) > 0 {
		faults = append(faults, field.Invalid(path.Child("kind"), kind.Kind, "may have mixed case, but should otherwise match: "+strings.Join(all, ",")))
	}
	return faults
}

func checkVersion(given string, path *field.Path) (faults field.ErrorList) {
	if given == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	gv, err := schema.ParseGroupVersion(given)
	if err != nil {
		return field.ErrorList{field.Invalid(path, given, err.Error())}
	}
	if all := utilvalidation.IsDNS1123Subdomain(gv.Group); gv.Group != "" && len(all) > 0 {
		faults = append(faults, field.Invalid(path, gv.Group, strings.Join(all, ",")))
	}
	if gv.Version == "" {
		return append(faults, field.Invalid(path, given, "version must be specified"))
	}
	if all := utilvalidation.IsDNS1035Label(gv.Version); len(all) > 0 {
		faults = append(faults, field.Invalid(path, gv.Version, strings.Join(all, ",")))
	}
	return faults
}

func checkBinding(spec *admissionregistration.ValidatingAdmissionPolicyBindingSpec, path *field.Path) (faults field.ErrorList) {
	if spec.PolicyName == "" {
		faults = append(faults, field.Required(path.Child("policyName"), ""))
	} else {
		for _, message := range validation.NameIsDNSSubdomain(spec.PolicyName, false) {
			faults = append(faults, field.Invalid(path.Child("policyName"), spec.PolicyName, message))
		}
	}
	faults = append(faults, checkParamRef(spec.ParamRef, path.Child("paramRef"))...)
	return append(faults, checkMatchResources(spec.MatchResources, path.Child("matchResources"))...)
}

func checkParamRef(ref *admissionregistration.ParamRef, path *field.Path) (faults field.ErrorList) {
	if ref == nil {
		return nil
	}
	const exclusive = "name and selector are mutually exclusive"
	if ref.Name != "" {
		for _, message := range pathvalidation.IsValidPathSegmentName(ref.Name) {
			faults = append(faults, field.Invalid(path.Child("name"), ref.Name, message))
		}
	}
	if ref.Name != "" && ref.Selector != nil {
		faults = append(faults, field.Forbidden(path.Child("name"), exclusive))
	}
	if ref.Selector != nil {
		faults = append(faults, metav1validation.ValidateLabelSelector(ref.Selector, metav1validation.LabelSelectorValidationOptions{}, path.Child("selector"))...)
	}
	switch {
	case ref.Name != "" && ref.Selector != nil:
		faults = append(faults, field.Forbidden(path.Child("selector"), exclusive))
	case ref.Name == "" && ref.Selector == nil:
		faults = append(faults, field.Required(path, "one of name or selector must be specified"))
	}
	action := ref.ParameterNotFoundAction
	if action != nil && *action == "" {
		action = nil
	}
	return append(faults, rules.OneOf(action, path.Child("parameterNotFoundAction"), admissionregistration.DenyAction, admissionregistration.AllowAction)...)
}

func checkActions(actions []admissionregistration.ValidationAction, path *field.Path) (faults field.ErrorList) {
	for i, a := range actions {
		faults = append(faults, rules.OneOf(&a, path.Index(i), admissionregistration.Audit, admissionregistration.Deny, admissionregistration.Warn)...)
		if slices.Contains(actions[:i], a) {
			faults = append(faults, field.Duplicate(path.Index(i), a))
		}
	}
	switch {
	case slices.Contains(actions, admissionregistration.Deny) && slices.Contains(actions, admissionregistration.Warn):
		faults = append(faults, field.Invalid(path, actions, "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)"))
	case len(actions) == 0:
		faults = append(faults, field.Required(path, "at least one validation action is required"))
	}
	return faults
}
