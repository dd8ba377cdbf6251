package celrule

import (
	"github.com/stagecraft-go/stagecraft/internal/expression"
	"github.com/stagecraft-go/stagecraft/kstatus"
)

// A rule is a compiled Spec. It is immutable.
type rule struct {
	lines   []test
	message *expression.CEL // nil if there is none
}

// A test is one of the expressions and the status for which it stands.
type test struct {
	field  string
	status kstatus.Status
	holds  *expression.CEL
}

func (r *rule) judge(o kstatus.Object) (kstatus.Result, bool) {
	s := expression.NewScope(o.Fields(), o.Now())
	s.Values = byName(s.Object)
	var failure string
	for _, line := range r.lines {
		holds, err := line.holds.Bool(s)
		switch {
		case err != nil && failure == "":
			failure = line.field + ": " + err.Error()
		case holds:
			return line.status.Because(reasons[line.status], r.text(s, "Expression "+line.field+" is true")), true
		}
	}
	if failure != "" {
		return kstatus.InProgress.Because("ExpressionFailed", r.text(s, failure)), true
	}
	return kstatus.InProgress.Because("CurrentNotTrue", r.text(s, "Expression current is not true")), true
}

// topLevel are the fields that expressions can use without self.
var topLevel = []string{"apiVersion", "kind", "metadata", "spec", "status", "data"}

// byName returns only these fields: others could have the name of something else, such as self.
func byName(object map[string]any) map[string]any {
	values := make(map[string]any, len(topLevel))
	for _, name := range topLevel {
		if v, ok := object[name]; ok {
			values[name] = v
		}
	}
	return values
}

var reasons = map[kstatus.Status]string{kstatus.InProgress: "InProgress", kstatus.Failed: "Failed"}

// text returns the message of the Spec, or the given one if there is none.
func (r *rule) text(s *expression.Scope, otherwise string) string {
	if r.message == nil {
		return otherwise
	}
	if v, err := r.message.Value(s); err == nil {
		if text, ok := v.(string); ok && text != "" {
			return text
		}
	}
	return otherwise
}
