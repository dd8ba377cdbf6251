package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// hyphenated is a label key, annotation key or node selector that contains a hyphen and is written
// like a plain field name.
var hyphenated = regexp.MustCompile(`\.(?:labels|annotations|nodeSelector)\.([A-Za-z_]\w*(?:-[A-Za-z_]\w*)+)`)

// subtractions finds names with a hyphen. For labels, annotations and node selectors it looks at
// the text, which need not compile; elsewhere at the parsed jq.
func subtractions(s *checkedStage) []fault {
	var faults []fault
	for _, e := range s.expressions {
		if e.cel {
			continue
		}
		if m := hyphenated.FindStringSubmatchIndex(e.text); m != nil {
			name := e.text[m[2]:m[3]]
			faults = append(faults, subtractionFault(e, m[2]+strings.Index(name, "-"), e.text[:m[2]-1], name))
			continue
		}
		for _, d := range subtractionsIn(e.text) {
			if d.name != "now" {
				last := d.left[strings.LastIndex(d.left, ".")+1:]
				faults = append(faults, subtractionFault(e, d.offset, strings.TrimSuffix(d.left, "."+last), last+"-"+d.name))
				break
			}
		}
	}
	return faults
}

func subtractionFault(e expression, offset int, head, name string) fault {
	left, right, _ := strings.Cut(name, "-")
	return fault{e.path, offset,
		fmt.Sprintf("jq reads %s.%s as %s.%s minus the function %s", head, name, head, left, right),
		fmt.Sprintf("write %s[%q]", head, name)}
}

// celField matches the first fields of a path in CEL.
var celField = regexp.MustCompile(`\bself\.\??([A-Za-z_]\w*)(?:\.\??([A-Za-z_]\w*)\b)?(\()?`)

func neverSet(s *checkedStage) []fault {
	var faults []fault
	for _, e := range s.expressions {
		for _, fields := range e.fields() {
			n, meant, wrong := checkFields(s.kind, fields)
			if !wrong || s.group.mentions(fields[n-1]+":") {
				continue
			}
			advice := "check the name"
			if meant != "" {
				advice = "did you mean " + meant + "?"
			}
			faults = append(faults, fieldFault(e.path, advice,
				"objects of kind %s have no field .%s, and no stage writes it", s.kind.Kind, strings.Join(fields[:n], ".")))
		}
	}
	return faults
}

// fields are the field names that paths in the expression begin with.
func (e expression) fields() [][]string {
	if !e.cel {
		p, _ := parsePath(e.text)
		return [][]string{p.fields()}
	}
	var list [][]string
	for _, m := range celField.FindAllStringSubmatch(withoutStrings(e.text), -1) {
		switch method := m[3] != ""; {
		case m[2] == "" && !method || m[2] != "" && method:
			list = append(list, m[1:2])
		case m[2] != "":
			list = append(list, m[1:3])
		}
	}
	return list
}

func unknownValues(s *checkedStage) []fault {
	var faults []fault
	for _, r := range s.requirements {
		values, ok := valuesOf(s.kind, r.path)
		unknown := slices.DeleteFunc(slices.Clone(r.values), func(v string) bool { return slices.Contains(values, v) || s.group.mentions(v) })
		if !ok || len(unknown) == 0 || r.operator == v1alpha1.SelectorOpIn && len(unknown) < len(r.values) {
			continue
		}
		advice := "it is one of " + strings.Join(values, ", ")
		if r.operator == v1alpha1.SelectorOpIn {
			faults = append(faults, fieldFault(r.at, advice, "%s is never %s, so the stage never matches", r.text, strings.Join(unknown, " or ")))
		} else {
			faults = append(faults, fieldFault(r.at, advice, "%s is never %s, so this excludes nothing", r.text, strings.Join(unknown, " or ")))
		}
	}
	return faults
}

func contradictions(s *checkedStage) []fault {
	var faults []fault
	for i, r := range s.requirements {
		for _, other := range s.requirements[:i] {
			if other.excludes(r) {
				faults = append(faults, fieldFault(r.at, "give one of them up", "no object meets this and %s, so the stage never matches", other.at))
				break
			}
		}
	}
	return faults
}

// celTimeCall is a CEL function or method that reads the current time.
var celTimeCall = regexp.MustCompile(`\b(Now|SinceSecond)\s*\(`)

func readsTime(s *checkedStage) []fault {
	var faults []fault
	for _, e := range s.expressions {
		text := withoutStrings(e.text)
		if e.selects && (e.cel && celTimeCall.MatchString(text) || !e.cel && mentionsFunction(text, "now")) {
			faults = append(faults, fieldFault(e.path, "wait by a delay: durationFrom can read a time from the object",
				"the selector reads the time, but is evaluated only when the object changes"))
		}
	}
	return faults
}

// stringLiteral is a string in jq or CEL.
var stringLiteral = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`)

// withoutStrings replaces the string literals of an expression by empty ones.
func withoutStrings(text string) string { return stringLiteral.ReplaceAllString(text, `""`) }
