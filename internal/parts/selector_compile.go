package parts

import (
	"errors"
	"slices"

	"github.com/google/cel-go/common/types"

	"github.com/stagecraft-go/stagecraft/internal/expression"
	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// CompileSelector prepares a selector; a nil StageSelector matches nothing. The error joins a
// [*position.Error] for each fault; if all of them are warnings, the Selector comes with it.
func CompileSelector(s *v1alpha1.StageSelector, c *expression.Compiler) (*Selector, error) {
	if s == nil {
		return &Selector{}, nil
	}
	b := selectorBuilder{compiler: c, requirements: []requirement{}}
	for _, w := range ReadSelector(s) {
		b.requirement(w)
	}
	if b.faults.Fatal() {
		return nil, b.faults.Err()
	}
	return &Selector{b.requirements}, b.faults.Err()
}

type selectorBuilder struct {
	compiler     *expression.Compiler
	requirements []requirement
	faults       position.Faults
}

func (b *selectorBuilder) requirement(w WrittenRequirement) {
	if w.conflict != "" {
		b.faults.Add(&position.Error{Path: w.conflict, Offset: -1, Warning: true, Err: errors.New("jq and cel in one expression; jq is used")})
	}
	switch {
	case w.Entries != "":
		b.requirements = append(b.requirements, entry{field: w.Entries, name: w.Key, value: w.Values[0]})
	case w.Source.CEL:
		b.cel(w.Source)
	case w.Source.Path == "":
		b.faults.Addf(w.Path, "want key and operator, jq, or cel")
	default:
		b.jq(w)
	}
}

func (b *selectorBuilder) jq(w WrittenRequirement) {
	if field, fault := w.operatorFault(); fault != "" {
		b.faults.Addf(w.Path+"."+field, "%s", fault)
	}
	program, err := b.compiler.JQ(w.Key)
	if err != nil {
		b.faults.Add(position.Below(w.Source.Path, err)...)
		return
	}
	b.requirements = append(b.requirements, &jqRequirement{w.Path, w.Key, program, w.Operator, slices.Clone(w.Values)})
}

func (b *selectorBuilder) cel(source expression.Source) {
	program, err := b.compiler.CEL(source.Text, types.BoolType)
	if err != nil {
		b.faults.Add(position.Below(source.Path, err)...)
		return
	}
	b.requirements = append(b.requirements, &celRequirement{path: source.Path, source: source.Text, program: program})
}
