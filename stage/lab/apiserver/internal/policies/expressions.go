package policies

import (
	"fmt"
	"slices"
	"strings"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/rules"
)

// expressions are checked by compiling them. What an object had before may use what is only there
// for expressions that are stored.
type expressions struct {
	composed  *cel.CompositedCompiler
	hasParams bool
	known     map[string]bool // were there before
}

func (c checker) expressions() (*expressions, error) {
	composed, err := c.Composed()
	if err != nil {
		return nil, err
	}
	x := &expressions{composed: composed, hasParams: c.spec.ParamKind != nil, known: map[string]bool{}}
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
func (x *expressions) check(e cel.ExpressionAccessor, path *field.Path) field.ErrorList {
	_, isMessage := e.(*validating.MessageExpressionCondition)
	result := x.composed.CompileCELExpression(e, cel.OptionalVariableDeclarations{HasParams: x.hasParams, HasAuthorizer: !isMessage}, x.mode(e.GetExpression()))
	return append(rules.Faults(result.Error, e.GetExpression(), path), rules.Patterns(e.GetExpression(), path)...)
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
	faults = append(faults, rules.Patterns(v.Expression, path.Child("expression"))...)
	return append(faults, rules.Faults(result.Error, v.Expression, path.Child("expression"))...)
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
		faults = append(faults, x.check(&validating.ValidationCondition{Expression: v.Expression}, path.Child("expression"))...)
	}
	switch at := path.Child("messageExpression"); {
	case v.MessageExpression == "":
	case strings.TrimSpace(v.MessageExpression) == "":
		faults = append(faults, field.Invalid(at, v.MessageExpression, empty))
	default:
		faults = append(faults, x.check(&validating.MessageExpressionCondition{MessageExpression: v.MessageExpression}, at)...)
	}
	switch message := strings.TrimSpace(v.Message); {
	case v.Message != "" && message == "":
		faults = append(faults, field.Invalid(path.Child("message"), v.Message, empty))
	case strings.ContainsAny(message, "\n\r"):
		faults = append(faults, field.Invalid(path.Child("message"), v.Message, "must not contain line breaks"))
	}
	if v.Reason != nil {
		faults = append(faults, rules.OneOf(v.Reason, path.Child("reason"), reasons...)...)
	}
	return faults
}

// longestAnnotation is how long the expression of an annotation may be.
const longestAnnotation = 5 * 1024

func (x *expressions) checkAnnotation(policy string, a admissionregistration.AuditAnnotation, path *field.Path) (faults field.ErrorList) {
	faults = append(faults, rules.CheckQualified(policy+"/"+a.Key, path.Child("key"))...)
	at, expression := path.Child("valueExpression"), strings.TrimSpace(a.ValueExpression)
	switch {
	case expression == "":
		return append(faults, field.Required(at, "valueExpression is not specified"))
	case len(expression) > longestAnnotation:
		return append(faults, field.Required(at, fmt.Sprintf("must not exceed %d bytes in length", longestAnnotation)))
	}
	result := x.composed.CompileCELExpression(&validating.AuditAnnotationCondition{ValueExpression: expression},
		cel.OptionalVariableDeclarations{HasParams: x.hasParams, HasAuthorizer: true}, x.mode(a.ValueExpression))
	return append(faults, rules.Faults(result.Error, a.ValueExpression, at)...)
}
