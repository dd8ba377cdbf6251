package policies

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/rules"
)

// mutatingSpec is the spec of a MutatingAdmissionPolicy: that of a validating one, with mutations in
// the place of validations. Its own Go type differs from version to version of Kubernetes.
type mutatingSpec struct {
	admissionregistration.ValidatingAdmissionPolicySpec `json:",inline"`

	Mutations          []mutationSpec `json:"mutations"`
	ReinvocationPolicy string         `json:"reinvocationPolicy"`
}

type mutationSpec struct {
	PatchType          string      `json:"patchType"`
	JSONPatch          *expression `json:"jsonPatch"`
	ApplyConfiguration *expression `json:"applyConfiguration"`
}

type expression struct {
	Expression string `json:"expression"`
}

func readMutatingSpec(u *unstructured.Unstructured) (*mutatingSpec, error) {
	spec := &mutatingSpec{}
	fields, _, _ := unstructured.NestedMap(u.Object, "spec")
	return spec, runtime.DefaultUnstructuredConverter.FromUnstructured(fields, spec)
}

func newMutator(c *rules.Compiler, u *unstructured.Unstructured) (*mutator, error) {
	spec, err := readMutatingSpec(u)
	if err != nil {
		return nil, err
	}
	m := &mutator{Policy: &mutating.Policy{}, name: u.GetName(), rules: rulesIn(spec.MatchConstraints)}
	if err := read(u, m.Policy); err != nil {
		return nil, err
	}
	if spec.ParamKind != nil {
		m.paramKind = schema.FromAPIVersionAndKind(spec.ParamKind.APIVersion, spec.ParamKind.Kind)
	}
	m.evaluator = sync.OnceValues(func() (mutating.PolicyEvaluator, error) { return spec.compile(c, m.name) })
	return m, nil
}

// compile compiles the expressions of a policy.
func (spec *mutatingSpec) compile(c *rules.Compiler, name string) (e mutating.PolicyEvaluator, err error) {
	composed, err := c.Composed()
	if err != nil {
		return e, err
	}
	declared := cel.OptionalVariableDeclarations{HasParams: spec.ParamKind != nil, HasAuthorizer: true}
	composed.CompileAndStoreVariables(variables(spec.Variables), declared, environment.StoredExpressions)
	if len(spec.MatchConditions) > 0 {
		conditions := composed.CompileCondition(matchConditions(spec.MatchConditions), declared, environment.StoredExpressions)
		e.Matcher = matchconditions.NewMatcher(conditions, spec.FailurePolicy, "policy", "validate", name)
	}
	declared.HasPatchTypes = true
	for _, step := range spec.Mutations {
		p, err := step.patcher(composed, declared)
		if err != nil {
			return e, err
		}
		e.Mutators = append(e.Mutators, withVariables{p, composed})
	}
	return e, nil
}

func (m mutationSpec) patcher(composed *cel.CompositedCompiler, declared cel.OptionalVariableDeclarations) (patch.Patcher, error) {
	switch {
	case m.PatchType == "JSONPatch" && m.JSONPatch != nil:
		e := &patch.JSONPatchCondition{Expression: m.JSONPatch.Expression}
		return patch.NewJSONPatcher(bounded{composed.CompileMutatingEvaluator(e, declared, environment.StoredExpressions)}), nil
	case m.PatchType == "ApplyConfiguration" && m.ApplyConfiguration != nil:
		e := &patch.ApplyConfigurationCondition{Expression: m.ApplyConfiguration.Expression}
		return patch.NewApplyConfigurationPatcher(composed.CompileMutatingEvaluator(e, declared, environment.StoredExpressions)), nil
	}
	return nil, fmt.Errorf("a mutation of the type %q has no expression", m.PatchType)
}

// withVariables patches with the variables of a policy. The dispatcher would do that by
// a field of the evaluator whose name differs from version to version of k8s.io/apiserver.
type withVariables struct {
	patch.Patcher
	composed *cel.CompositedCompiler
}

type contextCreator interface {
	CreateContext(context.Context) cel.CompositionContext
}

func (w withVariables) context(ctx context.Context) context.Context {
	if c, ok := any(w.composed).(contextCreator); ok {
		return c.CreateContext(ctx)
	}
	if f := reflect.ValueOf(w.composed).Elem().FieldByName("CompositionEnv"); f.IsValid() { // before 0.36
		if c, ok := f.Interface().(contextCreator); ok {
			return c.CreateContext(ctx)
		}
	}
	return ctx
}

func (w withVariables) Patch(ctx context.Context, r patch.Request, budget int64) (runtime.Object, error) {
	return w.Patcher.Patch(w.context(ctx), r, budget)
}
