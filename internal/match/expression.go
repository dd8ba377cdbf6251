package match

import (
	"fmt"
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

func (r *celRequirement) rank() int { return r.program.Rank() }

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
	values       []literal
}

func (r *jqRequirement) holds(s *expression.Scope) bool {
	outputs, err := r.program.Run(s.JQ())
	if err != nil {
		outputs = nil // a program that fails has no output, as in kwok
	}
	return r.test(outputs)
}

// test applies the operator; its table is complete because Compile refuses other operators.
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
	for _, v := range outputs {
		for i := range r.values {
			if r.values[i].equals(v) {
				return true
			}
		}
	}
	return false
}

func exists(outputs []any) bool {
	for _, v := range outputs {
		if v != nil {
			return true
		}
	}
	return false
}

func (r *jqRequirement) rank() int { return r.program.Rank() }

func (r *jqRequirement) key() string {
	return fmt.Sprintf("jq %q %s %q", r.source, r.operator, r.texts())
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
	return fmt.Sprintf("%s [%s]", s, strings.Join(r.texts(), " "))
}

func (r *jqRequirement) texts() []string {
	texts := make([]string, len(r.values))
	for i, v := range r.values {
		texts[i] = v.text
	}
	return texts
}

// literal is a value of a requirement with the number or bool that is written like it, so that
// comparing needs no formatting.
type literal struct {
	text    string
	integer int64
	float   float64
	isInt   bool
	isFloat bool
	isBool  bool
}

func newLiteral(text string) literal {
	l := literal{text: text, isBool: text == "true" || text == "false"}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		l.integer, l.isInt = n, strconv.FormatInt(n, 10) == text
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		l.float, l.isFloat = f, strconv.FormatFloat(f, 'f', -1, 64) == text && text != "-0" // which no 0 is written like
	}
	return l
}

func (l *literal) equals(v any) bool {
	switch v := v.(type) {
	case string:
		return v == l.text
	case bool:
		return l.isBool && v == (l.text == "true")
	case int64:
		return l.isInt && v == l.integer
	case float64:
		return l.isFloat && v == l.float
	default:
		return false
	}
}
