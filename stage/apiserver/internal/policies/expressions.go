package policies

import (
	"fmt"
	"slices"
	"strings"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// expressions are checked by compiling them. What an object had before may use what is only there
// for expressions that are stored.
type expressions struct {
	conditions cel.Compiler            // of matchConditions, which know no variables
	composed   *cel.CompositedCompiler // of the others
	hasParams  bool
	known      map[string]bool // were there before
}

func (c checker) expressions() (*expressions, error) {
	composed, err := c.composed()
	if err != nil {
		return nil, err
	}
	x := &expressions{conditions: c.plain(), composed: composed, hasParams: c.spec.ParamKind != nil, known: map[string]bool{}}
	for _, m := range c.before.MatchConditions {
		x.known[m.Expression] = true
	}
	for _, v := range c.before.Validations {
		x.known[v.Expression], x.known[v.MessageExpression] = true, true
	}
	for _, a := range c.before.AuditAnnotations {
		x.known[a.ValueExpression] = true
	}
	return x, nil
}

func (x *expressions) mode(expression string) environment.Type {
	if x.known[expression] {
		return environment.StoredExpressions
	}
	return environment.NewExpressions
}

// check compiles an expression. Messages know no authorizer.
func (x *expressions) check(by cel.Compiler, e cel.ExpressionAccessor, path *field.Path) field.ErrorList {
	_, isMessage := e.(*validating.MessageExpressionCondition)
	result := by.CompileCELExpression(e, cel.OptionalVariableDeclarations{HasParams: x.hasParams, HasAuthorizer: !isMessage}, x.mode(e.GetExpression()))
	return faultsOf(result.Error, e.GetExpression(), path)
}

func faultsOf(err *apiservercel.Error, expression string, path *field.Path) field.ErrorList {
	switch {
	case err == nil:
		return nil
	case err.Type == apiservercel.ErrorTypeRequired:
		return field.ErrorList{field.Required(path, err.Detail)}
	case err.Type == apiservercel.ErrorTypeInvalid:
		return field.ErrorList{field.Invalid(path, expression, err.Detail)}
	}
	return field.ErrorList{field.InternalError(path, err)}
}

// mostConditions is how many matchConditions there may be.
const mostConditions = 64

func (x *expressions) checkMatchConditions(all []admissionregistration.MatchCondition, path *field.Path) (faults field.ErrorList) {
	if len(all) > mostConditions {
		faults = append(faults, field.TooMany(path, len(all), mostConditions))
	}
	seen := map[string]bool{}
	for i, m := range all {
		at := path.Index(i)
		if expression := strings.TrimSpace(m.Expression); expression == "" {
			faults = append(faults, field.Required(at.Child("expression"), ""))
		} else {
			faults = append(faults, x.check(x.conditions, &matchconditions.MatchCondition{Expression: expression}, at.Child("expression"))...)
		}
		if m.Name == "" {
			faults = append(faults, field.Required(at.Child("name"), ""))
			continue
		}
		faults = append(faults, checkQualified(m.Name, at.Child("name"))...)
		if seen[m.Name] {
			faults = append(faults, field.Duplicate(at.Child("name"), m.Name))
		}
		seen[m.Name] = true
	}
	return faults
}

func checkQualified(name string, path *field.Path) (faults field.ErrorList) {
	for _, message := range utilvalidation.IsQualifiedName(name) {
		faults = append(faults, field.Invalid(path, name, message))
	}
	return faults
}

// checkVariable checks a variable; the expressions that are checked later know it.
func (x *expressions) checkVariable(v admissionregistration.Variable, path *field.Path) (faults field.ErrorList) {
	switch {
	case strings.TrimSpace(v.Name) == "":
		faults = append(faults, field.Required(path.Child("name"), "name is not specified"))
	case !isIdentifier(v.Name):
		faults = append(faults, field.Invalid(path.Child("name"), v.Name, "must be a valid CEL identifier"))
	}
	if strings.TrimSpace(v.Expression) == "" {
		return append(faults, field.Required(path.Child("expression"), "expression is not specified"))
	}
	result := x.composed.CompileAndStoreVariable(&validating.Variable{Name: v.Name, Expression: v.Expression},
		cel.OptionalVariableDeclarations{HasParams: x.hasParams, HasAuthorizer: true}, x.mode(v.Expression))
	return append(faults, faultsOf(result.Error, v.Expression, path.Child("expression"))...)
}

// reserved are the words that are no identifiers in CEL.
var reserved = strings.Fields("true false null in as break const continue else for function if import let loop package namespace return var void while")

func isIdentifier(name string) bool {
	for i, r := range name {
		isLetter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !isLetter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return !slices.Contains(reserved, name)
}

var reasons = []metav1.StatusReason{metav1.StatusReasonForbidden, metav1.StatusReasonInvalid, metav1.StatusReasonRequestEntityTooLarge}

func (x *expressions) checkValidation(v admissionregistration.Validation, path *field.Path) (faults field.ErrorList) {
	const empty = "must be non-empty if specified"
	if strings.TrimSpace(v.Expression) == "" {
		faults = append(faults, field.Required(path.Child("expression"), "expression is not specified"))
	} else {
		faults = append(faults, x.check(x.composed, &validating.ValidationCondition{Expression: v.Expression}, path.Child("expression"))...)
	}
	switch at := path.Child("messageExpression"); {
	case v.MessageExpression == "":
	case strings.TrimSpace(v.MessageExpression) == "":
		faults = append(faults, field.Invalid(at, v.MessageExpression, empty))
	default:
		faults = append(faults, x.check(x.composed, &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression}, at)...)
	}
	switch message := strings.TrimSpace(v.Message); {
	case v.Message != "" && message == "":
		faults = append(faults, field.Invalid(path.Child("message"), v.Message, empty))
	case strings.ContainsAny(message, "\n\r"):
		faults = append(faults, field.Invalid(path.Child("message"), v.Message, "must not contain line breaks"))
	}
	if v.Reason != nil {
		faults = append(faults, oneOf(v.Reason, path.Child("reason"), reasons...)...)
	}
	return faults
}

// longestAnnotation is how long the expression of an annotation may be.
const longestAnnotation = 5 * 1024

func (x *expressions) checkAnnotation(policy string, a admissionregistration.AuditAnnotation, path *field.Path) (faults field.ErrorList) {
	faults = append(faults, checkQualified(policy+"/"+a.Key, path.Child("key"))...)
	at, expression := path.Child("valueExpression"), strings.TrimSpace(a.ValueExpression)
	switch {
	case expression == "":
		return append(faults, field.Required(at, "valueExpression is not specified"))
	case len(expression) > longestAnnotation:
		return append(faults, field.Required(at, fmt.Sprintf("must not exceed %d bytes in length", longestAnnotation)))
	}
	result := x.composed.CompileCELExpression(&validating.AuditAnnotationCondition{ValueExpression: expression},
		cel.OptionalVariableDeclarations{HasParams: x.hasParams, HasAuthorizer: true}, x.mode(a.ValueExpression))
	return append(faults, faultsOf(result.Error, a.ValueExpression, at)...)
}
