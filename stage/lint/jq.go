package lint

import (
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

// A subtraction is a difference that its author probably intended as a name with a hyphen, such as
// a label key.
type subtraction struct {
	left, name string // .metadata.labels.job and type
	offset     int    // of the hyphen
}

// subtractionsIn finds what looks like a field name but is parsed as a subtraction.
func subtractionsIn(source string) []subtraction {
	q, err := gojq.Parse(source)
	if err != nil {
		return nil
	}
	var found []subtraction
	differences(q, func(left *gojq.Query, name string) {
		s := subtraction{left: left.String(), name: name}
		if s.offset = strings.Index(source, lastName(left)+"-"+name); s.offset >= 0 {
			s.offset += len(lastName(left))
			found = append(found, s)
		}
	})
	return found
}

// differences calls visit for every subtraction of a function without arguments from a path.
func differences(q *gojq.Query, visit func(left *gojq.Query, name string)) {
	if q == nil {
		return
	}
	differences(q.Left, visit)
	differences(q.Right, visit)
	if q.Op != gojq.OpSub {
		return
	}
	right := q.Right.Term
	if lastName(q.Left) != "" && right != nil && right.Type == gojq.TermTypeFunc && len(right.Func.Args) == 0 && right.Func.Name[0] != '$' {
		visit(q.Left, right.Func.Name)
	}
}

// lastName is the field at the end of a path, "" if q is not a path or ends otherwise. In a-b-c the
// left side is itself a subtraction.
func lastName(q *gojq.Query) string {
	if q.Op == gojq.OpSub && q.Right.Term != nil && q.Right.Term.Func != nil {
		return q.Right.Term.Func.Name
	}
	p, ok := pathOf(q, nil)
	if !ok || len(p) == 0 {
		return ""
	}
	return p[len(p)-1].field
}

// numericFunctions are the jq functions that return numbers.
var numericFunctions = []string{"tonumber", "length", "floor", "ceil", "round", "sqrt", "fabs", "now", "mktime", "fromdate", "fromdateiso8601", "utf8bytelength"}

// isNumeric reports whether the result of a jq program is certainly a number.
func isNumeric(q *gojq.Query) bool {
	switch {
	case q.Term == nil:
		if q.Op == gojq.OpPipe {
			return isNumeric(q.Right)
		}
		return q.Op == gojq.OpSub || slices.Contains([]gojq.Operator{gojq.OpMul, gojq.OpDiv, gojq.OpMod}, q.Op) && isNumeric(q.Right)
	case len(q.Term.SuffixList) > 0:
		return false
	case q.Term.Func != nil:
		return slices.Contains(numericFunctions, q.Term.Func.Name)
	default:
		return q.Term.Type == gojq.TermTypeNumber
	}
}

// mentionsFunction reports whether the text of an expression contains the name of a function as a
// word.
func mentionsFunction(source, name string) bool {
	for i := 0; ; {
		at := strings.Index(source[i:], name)
		if at < 0 {
			return false
		}
		at += i
		end := at + len(name)
		if (at == 0 || !isWord(source[at-1]) && source[at-1] != '.' && source[at-1] != '$') && (end == len(source) || !isWord(source[end])) {
			return true
		}
		i = end
	}
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
