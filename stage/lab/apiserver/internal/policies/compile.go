package policies

import (
	"fmt"
	"sync"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/rules"
)

func newPolicy(c *rules.Compiler, given *admissionregistration.ValidatingAdmissionPolicy) *policy {
	p := &policy{ValidatingAdmissionPolicy: given}
	if kind := given.Spec.ParamKind; kind != nil {
		p.paramKind = schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind)
	}
	p.evaluator = sync.OnceValues(func() (validating.Validator, error) { return compile(c, given) })
	return p
}

// compile compiles a policy. An expression that does not compile is an error each time that it is
// evaluated: it came into the cluster before policies were validated.
func compile(c *rules.Compiler, given *admissionregistration.ValidatingAdmissionPolicy) (validating.Validator, error) {
	composed, err := c.Composed()
	if err != nil {
		return nil, err
	}
	spec, hasParams := given.Spec, given.Spec.ParamKind != nil
	declared := cel.OptionalVariableDeclarations{HasParams: hasParams, HasAuthorizer: true}
	composed.CompileAndStoreVariables(variables(spec.Variables), declared, environment.StoredExpressions)
	conditions := func(all []cel.ExpressionAccessor) cel.ConditionEvaluator {
		return composed.CompileCondition(all, declared, environment.StoredExpressions)
	}
	e := evaluators{failurePolicy: spec.FailurePolicy, validations: conditions(validations(spec.Validations)), annotations: conditions(auditAnnotations(spec.AuditAnnotations))}
	e.messages = composed.CompileCondition(messages(spec.Validations), cel.OptionalVariableDeclarations{HasParams: hasParams}, environment.StoredExpressions)
	if len(spec.MatchConditions) > 0 {
		e.matcher = matchconditions.NewMatcher(conditions(matchConditions(spec.MatchConditions)), spec.FailurePolicy, "policy", "validate", given.Name)
	}
	return e.validator()
}

// evaluators are the compiled expressions of a policy.
type evaluators struct {
	validations, annotations, messages cel.ConditionEvaluator
	matcher                            matchconditions.Matcher // nil: no conditions
	failurePolicy                      *admissionregistration.FailurePolicyType
}

// validator calls validating.NewValidator, which has one parameter more since 0.37.
func (e evaluators) validator() (validating.Validator, error) {
	type condition = cel.ConditionEvaluator
	switch make := any(validating.NewValidator).(type) {
	case func(condition, matchconditions.Matcher, condition, condition, *admissionregistration.FailurePolicyType) validating.Validator:
		return make(e.validations, e.matcher, e.annotations, e.messages, e.failurePolicy), nil
	case func(condition, matchconditions.Matcher, condition, condition, *admissionregistration.FailurePolicyType, error) validating.Validator:
		return make(e.validations, e.matcher, e.annotations, e.messages, e.failurePolicy, nil), nil
	default:
		return nil, fmt.Errorf("policies cannot be evaluated with this version of k8s.io/apiserver: NewValidator is a %T", make)
	}
}

func variables(given []admissionregistration.Variable) (all []cel.NamedExpressionAccessor) {
	for _, v := range given {
		all = append(all, &validating.Variable{Name: v.Name, Expression: v.Expression})
	}
	return all
}

func matchConditions(given []admissionregistration.MatchCondition) (all []cel.ExpressionAccessor) {
	for i := range given {
		all = append(all, (*matchconditions.MatchCondition)(&given[i]))
	}
	return all
}

func validations(given []admissionregistration.Validation) (all []cel.ExpressionAccessor) {
	for _, v := range given {
		all = append(all, &validating.ValidationCondition{Expression: v.Expression, Message: v.Message, Reason: v.Reason})
	}
	return all
}

// messages are the expressions of messages; nil where a validation has none.
func messages(given []admissionregistration.Validation) []cel.ExpressionAccessor {
	all := make([]cel.ExpressionAccessor, len(given))
	for i, v := range given {
		if v.MessageExpression != "" {
			all[i] = &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression}
		}
	}
	return all
}

func auditAnnotations(given []admissionregistration.AuditAnnotation) (all []cel.ExpressionAccessor) {
	for _, v := range given {
		all = append(all, &validating.AuditAnnotationCondition{Key: v.Key, ValueExpression: v.ValueExpression})
	}
	return all
}
