// Package conditions checks the matchConditions of webhooks and policies as kube-apiserver does, by
// compiling them.
package conditions

import (
	"strings"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// most is how many conditions there may be.
const most = 64

// Options of [Check].
type Options struct {
	Known     map[string]bool // expressions that are stored already: they may use what new ones may not
	HasParams bool            // the expressions know params
}

// Check returns what is wrong with conditions.
func Check(path *field.Path, all []admissionregistration.MatchCondition, o Options) (faults field.ErrorList) {
	if len(all) > most {
		faults = append(faults, field.TooMany(path, len(all), most))
	}
	seen := map[string]bool{}
	for i, c := range all {
		at := path.Index(i)
		faults = append(faults, checkExpression(at.Child("expression"), strings.TrimSpace(c.Expression), o)...)
		faults = append(faults, checkName(at.Child("name"), c.Name)...)
		if c.Name != "" && seen[c.Name] {
			faults = append(faults, field.Duplicate(at.Child("name"), c.Name))
		}
		seen[c.Name] = true
	}
	return faults
}

func checkExpression(path *field.Path, text string, o Options) field.ErrorList {
	if text == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	mode := environment.NewExpressions
	if o.Known[text] {
		mode = environment.StoredExpressions
	}
	compiler := cel.NewCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	result := compiler.CompileCELExpression(&matchconditions.MatchCondition{Expression: text},
		cel.OptionalVariableDeclarations{HasParams: o.HasParams, HasAuthorizer: true}, mode)
	return Faults(path, text, result.Error)
}

// Faults returns the error of a compiler as a fault of the field with the expression.
func Faults(path *field.Path, expression string, err *apiservercel.Error) field.ErrorList {
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

func checkName(path *field.Path, name string) (faults field.ErrorList) {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	for _, fault := range validation.IsQualifiedName(name) {
		faults = append(faults, field.Invalid(path, name, fault))
	}
	return faults
}
