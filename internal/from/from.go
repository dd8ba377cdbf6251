// Package from compiles an ExpressionFrom, the part of the Stage API that delays and weights have in common.
//
// # Concurrency
//
// A From is immutable and safe for concurrent use.
package from

import (
	"errors"

	"github.com/stagecraft-go/stagecraft/internal/expr"
	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// A From reads one value from an object.
type From struct {
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
// [*position.Error] for each fault, relative to f; if it is harmless, the From is usable: of two expressions, the one in CEL counts, as in kwok.
func Compile(c *expr.Compiler, f *v1alpha1.ExpressionFrom, want expr.Kinds) (From, error) {
	switch {
	case f == nil:
		return From{}, nil
	case f.CEL != nil:
		return compileCEL(c, f, want)
	case f.JQ != nil:
		return compileJQ(c, "jq.expression", f.JQ.Expression)
	case f.ExpressionFrom != "":
		return compileJQ(c, "expressionFrom", f.ExpressionFrom)
	default:
		return From{}, &position.Error{Offset: -1, Err: errors.New("want jq, cel or expressionFrom")}
	}
}

func compileJQ(c *expr.Compiler, path, source string) (From, error) {
	program, err := c.JQ(source)
	if err != nil {
		return From{}, below(path, err)
	}
	return From{jq: program}, nil
}

func compileCEL(c *expr.Compiler, f *v1alpha1.ExpressionFrom, want expr.Kinds) (From, error) {
	program, err := c.CEL(f.CEL.Expression, want)
	if err != nil {
		return From{}, below("cel.expression", err)
	}
	if f.JQ != nil || f.ExpressionFrom != "" {
		err = &position.Error{Offset: -1, Harmless: true, Err: errors.New("jq and cel in one expression; cel is used")}
	}
	return From{cel: program}, err
}

func below(path string, err error) error {
	var faults []error
	for _, e := range position.Below(path, err) {
		faults = append(faults, e)
	}
	return errors.Join(faults...)
}

// Read evaluates the expression on an object: the first output of a jq program (null if there is none), or the result of a
// CEL expression.
func (f From) Read(s *expr.Scope) (any, Language, error) {
	switch {
	case f.cel != nil:
		v, err := f.cel.Value(s)
		return v, CEL, err
	case f.jq != nil:
		v, _, err := f.jq.First(s)
		return v, JQ, err
	default:
		return nil, None, nil
	}
}
