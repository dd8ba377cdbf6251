package definitions

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// The validators of Kubernetes compare each fault with all faults before it, so that the work grows
// with the square of their number: 50,000 faults take minutes. A large object is first validated by
// a validator that stops.
const (
	// manySteps is the number of steps above which an object is large.
	manySteps = 5_000

	// mostFound is the number of faults after which the first validation stops. A fault counts once
	// for each object and list around it.
	mostFound = 2_000

	// perPair is how many steps the comparison of two faults takes.
	perPair = 20
)

// tooMany returns a fault if an object has very many faults.
func (v *version) tooMany(obj map[string]any) field.ErrorList {
	b := &budget{steps: manySteps, ofValues: true}
	if _, isLarge := b.validate(obj, v.weights); !isLarge {
		return nil
	}
	s := &stopping{left: mostFound}
	found := s.validator(v.openapi, nil, "", strfmt.Default).Validate(obj)
	if s.left > 0 || len(found.Errors) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(nil, nil, "the object has very many faults, one of them: "+least(found.Errors))}
}

// least is the text that is first in the alphabet: the order in which fields are validated is random.
func least(found []error) string {
	texts := make([]string, len(found))
	for i, err := range found {
		texts[i] = err.Error()
	}
	return slices.Min(texts)
}

// A stopping validation finds no more faults once it has found enough.
type stopping struct{ left int }

func (s *stopping) validator(schema *spec.Schema, rootSchema any, root string, formats strfmt.Registry, options ...validate.Option) validate.ValueValidator {
	options = append(options, func(o *validate.SchemaValidatorOptions) {
		o.NewValidatorForIndex = func(_ int, schema *spec.Schema, rootSchema any, root string, formats strfmt.Registry, options ...validate.Option) validate.ValueValidator {
			return s.validator(schema, rootSchema, root, formats, options...)
		}
		o.NewValidatorForField = func(_ string, schema *spec.Schema, rootSchema any, root string, formats strfmt.Registry, options ...validate.Option) validate.ValueValidator {
			return s.validator(schema, rootSchema, root, formats, options...)
		}
	})
	return stoppingValidator{validate.NewSchemaValidator(schema, rootSchema, root, formats, options...), s}
}

type stoppingValidator struct {
	validate.ValueValidator
	of *stopping
}

func (v stoppingValidator) Validate(data any) *validate.Result {
	if v.of.left <= 0 {
		return &validate.Result{}
	}
	found := v.ValueValidator.Validate(data)
	if found != nil {
		v.of.left -= len(found.Errors)
	}
	return found
}
