package lint

import (
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/delay"
	"github.com/stagecraft-go/stagecraft/selector"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// failsAlways returns the error that an expression gives on every object; "" if it does not.
func (s *checkedStage) failsAlways(e expression) string {
	if !s.failsOnAProbe(e) {
		return ""
	}
	same := e
	same.path = "" // Stages of a kind often have the same expressions
	if message, known := s.group.failures[same]; known {
		return message
	}
	s.group.failures[same] = s.failureOf(e)
	return s.group.failures[same]
}

// failureOf returns the error that an expression gives on every probe and every variant; "" if it
// gives none on one of them, or not always the same. An error that differs is about a value. An
// error about a missing field does not tell the result with the field.
func (s *checkedStage) failureOf(e expression) (message string) {
	if len(namesIn(e.text))+len(number.FindAllString(e.text, -1)) > maxNames || raises.MatchString(e.text) {
		return ""
	}
	alone, err := selector.Compile(e.alone(), selector.Options{JQSteps: variantSteps, CELCost: variantSteps})
	if err != nil {
		return ""
	}
	for obj := range s.variants(e) {
		if s.group.evaluated++; s.group.evaluated > maxVariants {
			return ""
		}
		err := alone.Explain(obj.Object, now)[0].Err
		if err == nil || message != "" && typesIn(err) != message || inconclusive.MatchString(err.Error()) {
			return ""
		}
		message = typesIn(err)
	}
	return message
}

// failsOnAProbe reports whether an expression fails on the first probe of the Stage, which is known
// without evaluating it again.
func (s *checkedStage) failsOnAProbe(e expression) bool {
	if !s.compiles {
		return false
	}
	seen := s.firstExplanation()
	for _, r := range seen.Requirements {
		if r.Path == e.path || strings.HasPrefix(e.path, r.Path+".") {
			return r.Err != nil
		}
	}
	failing := func(p delay.Evaluation) bool { return p.Text == e.text && p.Err != nil }
	return !seen.Matches || seen.Weight.Text == e.text && seen.Weight.Err != nil || slices.ContainsFunc(seen.Delay.Parts, failing)
}

// firstExplanation is the explanation for the first probe that the Stage matches, or else for a new
// object.
func (s *checkedStage) firstExplanation() *stage.StageExplanation {
	if s.first != nil {
		return s.first
	}
	var seen stage.StageExplanation
	if results := s.probeResults(); len(results) > 0 {
		seen = results[0].matching[s]
	} else {
		seen = s.set.Explain(newObjects(s.kind)[0], now).Stages[0]
	}
	s.first = &seen
	return s.first
}

// typeError is an error of jq about types, each followed by the value.
var (
	typeError  = regexp.MustCompile(`^(cannot (add|subtract|multiply|iterate over)|expected an (object|array))\b`)
	typedValue = regexp.MustCompile(`\b(string|number|boolean|object|array) \(.*?\)( and |$)`)
)

// typesIn is the text of an error. Errors of jq about types are without the values.
func typesIn(err error) string {
	if !typeError.MatchString(err.Error()) {
		return err.Error()
	}
	return typedValue.ReplaceAllString(err.Error(), "$1$2")
}

// alone is a selector with only this expression, as in the Stage. Outside of selectors CEL need not
// give a bool.
func (e expression) alone() *v1alpha1.StageSelector {
	m := v1alpha1.MatchExpression{}
	switch {
	case e.cel && e.selects:
		m.CEL = &v1alpha1.ExpressionCEL{Expression: e.text}
	case e.cel:
		m.CEL = &v1alpha1.ExpressionCEL{Expression: "size([" + e.text + "]) == 1"}
	default:
		m.JQ = &v1alpha1.SelectorJQ{Key: e.text, Operator: v1alpha1.SelectorOpExists}
	}
	return &v1alpha1.StageSelector{MatchExpressions: []v1alpha1.MatchExpression{m}}
}

// raises matches jq that can fail intentionally. inconclusive matches errors about missing fields
// and about limits.
var (
	raises       = regexp.MustCompile(`\b(error|halt|halt_error)\b`)
	inconclusive = regexp.MustCompile(`\bnull\b|no such (key|attribute|field)|undeclared|out of bounds|exceeded|limit`)
)

// Limits of the search for expressions that always fail: the number of objects that are evaluated
// for a kind, and the steps of each evaluation. An expression that exceeds them is treated as
// correct.
const (
	maxVariants  = 5_000
	variantSteps = 2_000
)

// maxNames is the largest number of names and numbers in an expression for which variants are made.
const maxNames = 16

var (
	word   = regexp.MustCompile(`[A-Za-z_]\w*`)
	number = regexp.MustCompile(`\b\d+\b`)
)

// namesIn are the words of an expression and the texts in it, which may be names of fields.
func namesIn(text string) []string {
	names := append(word.FindAllString(withoutStrings(text), -1), textsIn(text)...)
	slices.Sort(names)
	return slices.Compact(names)
}

func textsIn(text string) []string {
	var texts []string
	for _, literal := range stringLiteral.FindAllString(text, -1) {
		texts = append(texts, literal[1:len(literal)-1])
	}
	return texts
}

// valuesFor returns values of each type, and the values that the expression might compare with.
func valuesFor(text string) []any {
	values := []any{"probe", "7", "1m", "true", "{}", now.Add(time.Hour).Format(time.RFC3339), int64(7), 0.5, true}
	for _, t := range textsIn(text) {
		values = append(values, t)
	}
	for _, digits := range number.FindAllString(withoutStrings(text), -1) {
		if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
			values = append(values, n, n+1)
		}
	}
	return values
}

// variants returns the probes of the Stage, new objects, and generated objects. In a generated
// object every name in the expression is a field, with values and lists of each type.
func (s *checkedStage) variants(e expression) iter.Seq[*unstructured.Unstructured] {
	return func(yield func(*unstructured.Unstructured) bool) {
		for _, obj := range append(s.templateObjects(), newObjects(s.kind)...) {
			if !yield(obj) {
				return
			}
		}
		names := namesIn(e.text)
		for _, leaf := range valuesFor(e.text) {
			for _, v := range nestings(names, leaf) {
				if !yield(s.variant(names, leaf, v)) {
					return
				}
			}
		}
	}
}

// nestings are a value, and mappings and lists, up to three deep, that end in it.
func nestings(names []string, leaf any) []any {
	flat := fieldsWith(names, leaf)
	return []any{
		leaf, []any{leaf}, flat, []any{flat}, fieldsWith(names, flat), fieldsWith(names, []any{flat}),
		[]any{fieldsWith(names, flat)}, []any{fieldsWith(names, []any{flat})},
	}
}

// variant is a new object with a value in all fields of these names, in itself, its metadata, spec
// and status.
func (s *checkedStage) variant(names []string, leaf, v any) *unstructured.Unstructured {
	obj := newObjects(s.kind)[0]
	metadata := obj.Object["metadata"].(map[string]any)
	if text, ok := leaf.(string); ok {
		metadata["name"], metadata["namespace"], metadata["uid"] = text, text, text
	}
	metadata["generation"], metadata["creationTimestamp"] = int64(7), now.Format(time.RFC3339)
	metadata["labels"], metadata["annotations"] = fieldsWith(names, metadata["name"]), fieldsWith(names, metadata["name"])
	for _, part := range []string{"spec", "status"} {
		fields, _ := obj.Object[part].(map[string]any)
		obj.Object[part] = fieldsWith(names, v)
		for name, old := range fields {
			if !slices.Contains(names, name) {
				obj.Object[part].(map[string]any)[name] = old
			}
		}
	}
	for _, name := range names {
		for _, part := range []map[string]any{obj.Object, metadata} {
			if _, there := part[name]; !there {
				part[name] = v
			}
		}
	}
	return obj
}

// fieldsWith is a mapping with the same value for each name. A condition has a type and a status
// besides.
func fieldsWith(names []string, v any) map[string]any {
	m := map[string]any{"type": "Ready", "status": "True"}
	for _, name := range names {
		m[name] = v
	}
	return m
}
