package expression

import (
	"errors"

	"github.com/google/cel-go/common/types"

	"github.com/stagecraft-go/stagecraft/internal/jq"
	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// A ValueFrom reads one value from an object. It is immutable and safe for concurrent use.
type ValueFrom struct {
	// Path is the field of the used expression, such as cel.expression, and Text is its source.
	// Both are "" without an expression.
	Path, Text string

	jq  *jq.Program
	cel *CEL
}

// A Language says which language produced a value, because types mean different things in jq and
// CEL.
type Language int

// The languages. NoLanguage is the Language of an absent expression.
const (
	NoLanguage Language = iota
	JQLanguage
	CELLanguage
)

// A Source is an expression as a field of a Stage has it, whether it compiles or not.
type Source struct {
	Path, Text string
	CEL        bool // else it is jq
}

// Below returns the Source with the path of a field around it.
func (s Source) Below(path string) Source {
	s.Path = position.Join(path, s.Path)
	return s
}

// SourceOf returns the expression of f that counts: that in CEL if both languages are there, as in
// kwok. It is false without one.
func SourceOf(f *v1alpha1.ExpressionFrom) (Source, bool) {
	if f != nil && f.CEL != nil {
		return Source{Path: "cel.expression", Text: f.CEL.Expression, CEL: true}, true
	}
	return jqOf(f)
}

// jqOf returns the jq program of f, in either form of the API.
func jqOf(f *v1alpha1.ExpressionFrom) (Source, bool) {
	switch {
	case f == nil:
	case f.JQ != nil:
		return Source{Path: "jq.expression", Text: f.JQ.Expression}, true
	case f.ExpressionFrom != "":
		return Source{Path: "expressionFrom", Text: f.ExpressionFrom}, true
	}
	return Source{}, false
}

// ValueFrom prepares an expression whose CEL result must be of one of the types wanted. A nil f
// reads nothing. The error joins a [*position.Error] for each fault, relative to f; if it is a
// warning, the ValueFrom is usable: of two expressions, both must be sound and the one in CEL
// counts, as in kwok.
func (c *Compiler) ValueFrom(f *v1alpha1.ExpressionFrom, want ...*types.Type) (from ValueFrom, err error) {
	if f == nil {
		return from, nil
	}
	var faults position.Faults
	source, given := SourceOf(f)
	if !given {
		faults.Addf("", "want jq, cel or expressionFrom")
	}
	if q, ok := jqOf(f); ok {
		from.jq, err = c.JQ(q.Text)
		faults.Add(position.Below(q.Path, err)...)
	}
	if source.CEL {
		from.cel, err = c.CEL(source.Text, want...)
		faults.Add(position.Below(source.Path, err)...)
	}
	from.Path, from.Text = source.Path, source.Text
	if from.jq != nil && from.cel != nil {
		faults.Add(&position.Error{Offset: -1, Warning: true, Err: errors.New("jq and cel in one expression; cel is used")})
	}
	return from, faults.Err()
}

// Read evaluates the expression on an object. It returns the result of a CEL expression, or the
// first output of a jq program that is not null. As in kwok, it returns nil if the program has no
// such output, and an error if the program fails.
func (f ValueFrom) Read(s *Scope) (any, Language, error) {
	switch {
	case f.cel != nil:
		v, err := f.cel.Value(s)
		return v, CELLanguage, err
	case f.jq != nil:
		outputs, err := f.jq.Run(s.JQ())
		return first(outputs), JQLanguage, err
	default:
		return nil, NoLanguage, nil
	}
}

// first returns the first output that is not null.
func first(outputs []any) any {
	for _, v := range outputs {
		if v != nil {
			return v
		}
	}
	return nil
}
