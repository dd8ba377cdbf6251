package parts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stagecraft-go/stagecraft/internal/expression"
	"github.com/stagecraft-go/stagecraft/internal/jq"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// celRequirement is a CEL expression that must be true.
type celRequirement struct {
	path, source string
	program      *expression.CEL
}

func (r *celRequirement) holds(s *expression.Scope) bool {
	ok, err := r.program.Bool(s)
	return ok && err == nil
}

func (r *celRequirement) rank() int { return 2 }

// key: the answer of an expression that draws depends on the seed.
func (r *celRequirement) key() string {
	if r.program.Draws() {
		return ""
	}
	return "cel " + r.source
}

func (r *celRequirement) explain(s *expression.Scope) Requirement {
	ok, err := r.program.Bool(s)
	return Requirement{Path: r.path, Text: r.source, Seen: r.program.Reads(s), OK: ok && err == nil, Err: err}
}

// jqRequirement compares the outputs of a jq program with values.
type jqRequirement struct {
	path, source string
	program      *jq.Program
	operator     v1alpha1.SelectorOperator
	values       []string
}

func (r *jqRequirement) holds(s *expression.Scope) bool {
	outputs, err := r.program.Run(s.JQ())
	if err != nil {
		outputs = nil // a program that fails has no output, as in kwok
	}
	return r.test(outputs)
}

// test applies the operator; its table is complete because CompileSelector refuses other operators.
func (r *jqRequirement) test(outputs []any) bool {
	switch r.operator {
	case v1alpha1.SelectorOpIn:
		return r.in(outputs)
	case v1alpha1.SelectorOpNotIn:
		return !r.in(outputs)
	case v1alpha1.SelectorOpExists:
		return exists(outputs)
	default: // DoesNotExist
		return !exists(outputs)
	}
}

func (r *jqRequirement) in(outputs []any) bool {
	return slices.ContainsFunc(outputs, func(v any) bool {
		text, ok := written(v)
		return ok && slices.Contains(r.values, text)
	})
}

func exists(outputs []any) bool {
	return slices.ContainsFunc(outputs, func(v any) bool { return v != nil })
}

// written is the text of a value in a selector that an output is equal to. No text is equal to
// null, NaN, lists and maps.
func written(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v+0, 'f', -1, 64), v == v // -0 + 0 is 0
	}
	return "", false
}

func (r *jqRequirement) rank() int { return r.program.Rank() }

func (r *jqRequirement) key() string {
	return fmt.Sprintf("jq %q %s %q", r.source, r.operator, r.values)
}

func (r *jqRequirement) explain(s *expression.Scope) Requirement {
	e := Requirement{Path: r.path, Text: r.text()}
	outputs, err := r.program.Run(s.JQ())
	if err == nil {
		e.Seen = append(e.Seen, outputs...)
	}
	e.OK, e.Err = r.test(e.Seen), err
	return e
}

func (r *jqRequirement) text() string {
	s := r.source + " " + string(r.operator)
	if len(r.values) == 0 {
		return s
	}
	return fmt.Sprintf("%s [%s]", s, strings.Join(r.values, " "))
}
