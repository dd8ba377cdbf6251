package diagram

import (
	"cmp"
	"path"
	"regexp"
	"strings"

	"github.com/stagecraft-go/stagecraft/internal/expression"
	"github.com/stagecraft-go/stagecraft/internal/parts"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// selectorLines describes a selector in a few words, one line for each requirement: `phase =
// Running`, `no deletionTimestamp`, `Ready = True`.
func selectorLines(s *v1alpha1.StageSpec) (lines []string) {
	for _, w := range parts.ReadSelector(s.Selector) {
		lines = append(lines, requirement(w))
	}
	switch {
	case len(lines) > 0:
		return lines
	case parts.NoSelector(s.Selector):
		return []string{"never"}
	}
	return []string{"always"}
}

// conditions joins the lines of a selector to one sentence with "if" and "and".
func conditions(s *v1alpha1.StageSpec) []string {
	lines := selectorLines(s)
	for i, line := range lines {
		lines[i] = []string{"if ", "and "}[min(i, 1)] + line
	}
	return lines
}

func requirement(r parts.WrittenRequirement) string {
	if r.Source.CEL {
		return shorten(strings.Join(strings.Fields(r.Source.Text), " "), 60)
	}
	name, values := keyText(r.Key), strings.Join(r.Values, " | ")
	if r.Entries != "" {
		name = r.Key
	}
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

// keyText names the value that a jq path reads: the type of a condition, the key of a label, or a
// field.
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

// sourceText says where a weight or a delay is read from.
func sourceText(s expression.Source) string {
	if s.CEL {
		return shorten(strings.Join(strings.Fields(s.Text), " "), 40)
	}
	if m := mapKeyPath.FindStringSubmatch(s.Text); m != nil {
		return "annotation " + path.Base(m[1])
	}
	return shorten(keyText(cmp.Or(s.Text, "the object")), 60)
}
