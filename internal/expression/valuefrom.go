// Package valuefrom compiles an ExpressionFrom, the part of the Stage API that delays and weights have in common.
//
// # Concurrency
//
// A From is immutable and safe for concurrent use.
package valuefrom

import (
	"errors"

	"github.com/stagecraft-go/stagecraft/internal/expr"
	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// A From reads one value from an object.
type From struct {
	// Path is the field of the expression that counts, such as cel.expression, and Text its source; both are "" if there is none.
	Path, Text string

	jq  *expr.JQ
	cel *expr.CEL
}

// A Language says who produced a value, because the two languages have different types for the same things.
type Language int

// The languages. None is that of an absent expression.
const (
	None Language = iota
	JQ
	CEL
)

// Compile prepares an expression whose CEL result must be one of the kinds want. A nil f reads nothing. The error joins a
// [*position.Error] for each fault, relative to f; if it is harmless, the From is usable: of two expressions, both must be sound and the one in CEL
// counts, as in kwok.
func Compile(c *expr.Compiler, f *v1alpha1.ExpressionFrom, want expr.Kinds) (From, error) {
	if f == nil {
		return From{}, nil
	}
	var from From
	var errs [3]error
	switch {
	case f.JQ != nil:
		from.Path, from.Text = "jq.expression", f.JQ.Expression
	case f.ExpressionFrom != "":
		from.Path, from.Text = "expressionFrom", f.ExpressionFrom
	case f.CEL == nil:
		errs[0] = fault(false, "want jq, cel or expressionFrom")
	}
	if from.Path != "" {
		from.jq, errs[0] = jq(c, from.Path, from.Text)
	}
	if f.CEL != nil {
		from.Path, from.Text = "cel.expression", f.CEL.Expression
		from.cel, errs[1] = cel(c, from.Text, want)
	}
	if from.jq != nil && from.cel != nil {
		errs[2] = fault(true, "jq and cel in one expression; cel is used")
	}
	return from, errors.Join(errs[:]...)
}

func fault(harmless bool, text string) error {
	return &position.Error{Offset: -1, Harmless: harmless, Err: errors.New(text)}
}

func jq(c *expr.Compiler, path, source string) (*expr.JQ, error) {
	program, err := c.JQ(source)
	return program, below(path, err)
}

func cel(c *expr.Compiler, source string, want expr.Kinds) (*expr.CEL, error) {
	program, err := c.CEL(source, want)
	return program, below("cel.expression", err)
}

func below(path string, err error) error {
	var faults []error
	for _, e := range position.Below(path, err) {
		faults = append(faults, e)
	}
	return errors.Join(faults...)
}

// Read evaluates the expression on an object: to the result of a CEL expression, or to the first output of a jq program that is not null, if
// there is one and the program does not fail, as in kwok.
func (f From) Read(s *expr.Scope) (any, Language, error) {
	switch {
	case f.cel != nil:
		v, err := f.cel.Value(s)
		return v, CEL, err
	case f.jq != nil:
		outputs, err := f.jq.Outputs(s)
		return first(outputs), JQ, err
	default:
		return nil, None, nil
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
