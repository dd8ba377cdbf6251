package diagram

import (
	"cmp"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// selectorLines describes a selector in a few words, one line for each requirement: `phase =
// Running`, `no deletionTimestamp`, `Ready = True`.
func selectorLines(s *v1alpha1.StageSelector) (lines []string) {
	if s == nil {
		return []string{"never"}
	}
	for _, m := range []map[string]string{s.MatchLabels, s.MatchAnnotations} {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			lines = append(lines, k+" = "+m[k])
		}
	}
	for _, e := range s.MatchExpressions {
		if e.CEL != nil {
			lines = append(lines, shorten(strings.Join(strings.Fields(e.CEL.Expression), " "), 60))
			continue
		}
		lines = append(lines, requirement(jqOf(e)))
	}
	if len(lines) == 0 {
		return []string{"always"}
	}
	return lines
}

// conditions joins the lines of a selector to one sentence with "if" and "and".
func conditions(s *v1alpha1.StageSelector) []string {
	lines := selectorLines(s)
	for i, line := range lines {
		lines[i] = []string{"if ", "and "}[min(i, 1)] + line
	}
	return lines
}

// jqOf returns the jq requirement of an expression, in either form of the API.
func jqOf(e v1alpha1.MatchExpression) v1alpha1.SelectorJQ {
	if e.JQ != nil {
		return *e.JQ
	}
	return v1alpha1.SelectorJQ{Key: e.Key, Operator: e.Operator, Values: e.Values}
}

func requirement(r v1alpha1.SelectorJQ) string {
	name, values := keyText(r.Key), strings.Join(r.Values, " | ")
	switch r.Operator {
	case v1alpha1.SelectorOpIn:
		return name + " = " + values
	case v1alpha1.SelectorOpNotIn:
		return name + " ≠ " + values
	case v1alpha1.SelectorOpDoesNotExist:
		return "no " + name
	}
	return "has " + name
}

// The usual forms of jq paths in selectors.
var (
	conditionPath = regexp.MustCompile(`^\.status\.conditions\[\]\?? *\| *select\( *\.type *== *"([^"]+)" *\) *\| *\.(\w+)$`)
	mapKeyPath    = regexp.MustCompile(`^\.metadata\.(?:labels|annotations)\["([^"]+)"\]$`)
	fieldPath     = regexp.MustCompile(`^\.(?:metadata|status)\.([\w.\[\]?]+)$`)
)

// keyText is what a jq path reads: the type of a condition, the key of a label, or a field.
func keyText(key string) string {
	if m := conditionPath.FindStringSubmatch(key); m != nil && m[2] == "status" {
		return m[1]
	} else if m != nil {
		return m[1] + " " + m[2]
	}
	for _, form := range []*regexp.Regexp{mapKeyPath, fieldPath} {
		if m := form.FindStringSubmatch(key); m != nil {
			return strings.NewReplacer("[]?", "", "[]", "").Replace(m[1])
		}
	}
	return shorten(strings.Join(strings.Fields(key), " "), 60)
}

// sourceOf says where a weight or a delay is read from; "" if it is not read from the object.
func sourceOf(f *v1alpha1.ExpressionFrom) string {
	if f == nil {
		return ""
	}
	text := f.ExpressionFrom
	if f.JQ != nil {
		text = f.JQ.Expression
	}
	if f.CEL != nil {
		return shorten(strings.Join(strings.Fields(f.CEL.Expression), " "), 40)
	}
	if m := mapKeyPath.FindStringSubmatch(text); m != nil {
		return "annotation " + path.Base(m[1])
	}
	return shorten(keyText(cmp.Or(text, "the object")), 60)
}
