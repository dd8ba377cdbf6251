package selectors

import (
	"errors"
	"maps"
	"slices"

	"github.com/google/cel-go/common/types"

	"github.com/stagecraft-go/stagecraft/internal/expression"
	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// Compile prepares a selector. The error joins a [*position.Error] for each fault; if all of them
// are warnings, the Selector comes with it.
func Compile(s *v1alpha1.StageSelector, c *expression.Compiler) (*Selector, error) {
	if s == nil {
		return &Selector{}, nil
	}
	b := builder{compiler: c, requirements: []requirement{}}
	b.entries("labels", s.MatchLabels)
	b.entries("annotations", s.MatchAnnotations)
	for i, e := range s.MatchExpressions {
		b.expression(position.Index("matchExpressions", i), e)
	}
	if b.faults.Fatal() {
		return nil, b.faults.Err()
	}
	return &Selector{b.requirements}, b.faults.Err()
}

type builder struct {
	compiler     *expression.Compiler
	requirements []requirement
	faults       position.Faults
}

func (b *builder) entries(field string, want map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(want)) {
		b.requirements = append(b.requirements, entry{field: field, name: key, value: want[key]})
	}
}

func (b *builder) expression(path string, e v1alpha1.MatchExpression) {
	jq, at := e.JQ, path+".jq"
	if jq == nil && (e.Key != "" || e.Operator != "" || len(e.Values) > 0) {
		jq, at = &v1alpha1.SelectorJQ{Key: e.Key, Operator: e.Operator, Values: e.Values}, path
	}
	if jq != nil && e.CEL != nil {
		b.faults.Add(&position.Error{Path: path, Offset: -1, Warning: true, Err: errors.New("jq and cel in one expression; jq is used")})
	}
	switch {
	case jq != nil:
		b.jq(at, jq)
	case e.CEL != nil:
		b.cel(path+".cel.expression", e.CEL.Expression)
	default:
		b.faults.Addf(path, "want key and operator, jq, or cel")
	}
}

func (b *builder) jq(path string, e *v1alpha1.SelectorJQ) {
	b.operator(path, e)
	program, err := b.compiler.JQ(e.Key)
	if err != nil {
		b.faults.Add(position.Below(path+".key", err)...)
		return
	}
	b.requirements = append(b.requirements, &jqRequirement{path, e.Key, program, e.Operator, slices.Clone(e.Values)})
}

func (b *builder) operator(path string, e *v1alpha1.SelectorJQ) {
	switch e.Operator {
	case v1alpha1.SelectorOpIn, v1alpha1.SelectorOpNotIn:
		if len(e.Values) == 0 {
			b.faults.Addf(path+".values", "%s needs at least one value", e.Operator)
		}
	case v1alpha1.SelectorOpExists, v1alpha1.SelectorOpDoesNotExist:
		if len(e.Values) > 0 {
			b.faults.Addf(path+".values", "%s takes no values", e.Operator)
		}
	case "":
		b.faults.Addf(path+".operator", "missing; want In, NotIn, Exists or DoesNotExist")
	default:
		b.faults.Addf(path+".operator", "unknown operator %q; want In, NotIn, Exists or DoesNotExist", e.Operator)
	}
}

func (b *builder) cel(path, source string) {
	program, err := b.compiler.CEL(source, types.BoolType)
	if err != nil {
		b.faults.Add(position.Below(path, err)...)
		return
	}
	b.requirements = append(b.requirements, &celRequirement{path: path, source: source, program: program})
}
