package rules

import (
	"fmt"
	"strings"
	"sync"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/celpatterns"
)

// A Compiler compiles expressions. It is safe for concurrent use.
type Compiler struct {
	base  func() *environment.EnvSet
	plain func() cel.Compiler // of expressions without variables
}

// NewCompiler returns a compiler that makes its environments, which takes long, when it needs them.
func NewCompiler() *Compiler {
	c := &Compiler{base: sync.OnceValue(func() *environment.EnvSet {
		all := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
		return must(all.Extend(environment.VersionedOptions{IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: celpatterns.Bounded(mostStates)}))
	})}
	c.plain = sync.OnceValue(func() cel.Compiler { return cel.NewCompiler(c.base()) })
	return c
}

func must(env *environment.EnvSet, err error) *environment.EnvSet {
	if err != nil {
		panic(err)
	}
	return env
}

// Composed returns a compiler for the expressions of a policy, which share variables.
func (c *Compiler) Composed() (*cel.CompositedCompiler, error) {
	return cel.NewCompositedCompiler(c.base())
}

// Faults returns the faults of an expression that has been compiled.
func Faults(err *apiservercel.Error, expression string, path *field.Path) field.ErrorList {
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

// mostStates is how many states a pattern in an expression of a policy or a webhook may have, or one
// that its evaluation makes. The cost limits of Kubernetes count a pattern by its length.
const mostStates = 500

// Patterns returns a fault if a pattern of an expression has too many states.
func Patterns(expression string, path *field.Path) field.ErrorList {
	if most, _ := celpatterns.Of(expression); most > mostStates {
		return field.ErrorList{field.Forbidden(path, fmt.Sprintf("a pattern has %d states: the limit is %d; use smaller repetitions", most, mostStates))}
	}
	return nil
}

// mostConditions is how many matchConditions there may be.
const mostConditions = 64

// Conditions are the matchConditions of a policy or a webhook.
type Conditions struct {
	All       []admissionregistration.MatchCondition
	HasParams bool            // the policy has parameters
	Known     map[string]bool // expressions that the object had before: they may use what new ones must not
}

// Check returns the faults of conditions.
func (c *Compiler) Check(of Conditions, path *field.Path) (faults field.ErrorList) {
	all := of.All
	if len(all) > mostConditions {
		faults = append(faults, field.TooMany(path, len(all), mostConditions))
	}
	seen := map[string]bool{}
	for i, m := range all {
		at := path.Index(i)
		if expression := strings.TrimSpace(m.Expression); expression == "" {
			faults = append(faults, field.Required(at.Child("expression"), ""))
		} else {
			faults = append(faults, c.checkCondition(of, expression, at.Child("expression"))...)
		}
		if m.Name == "" {
			faults = append(faults, field.Required(at.Child("name"), ""))
			continue
		}
		faults = append(faults, CheckQualified(m.Name, at.Child("name"))...)
		if seen[m.Name] {
			faults = append(faults, field.Duplicate(at.Child("name"), m.Name))
		}
		seen[m.Name] = true
	}
	return faults
}

func (c *Compiler) checkCondition(of Conditions, expression string, path *field.Path) field.ErrorList {
	mode := environment.NewExpressions
	if of.Known[expression] {
		mode = environment.StoredExpressions
	}
	declared := cel.OptionalVariableDeclarations{HasParams: of.HasParams, HasAuthorizer: true}
	result := c.plain().CompileCELExpression(&matchconditions.MatchCondition{Expression: expression}, declared, mode)
	return append(Faults(result.Error, expression, path), Patterns(expression, path)...)
}

// CheckQualified returns the faults of a name with an optional prefix.
func CheckQualified(name string, path *field.Path) (faults field.ErrorList) {
	for _, message := range utilvalidation.IsQualifiedName(name) {
		faults = append(faults, field.Invalid(path, name, message))
	}
	return faults
}
