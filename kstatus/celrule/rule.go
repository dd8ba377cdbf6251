package celrule

import (
	"slices"

	"github.com/google/cel-go/common/ast"

	"github.com/stagecraft-go/stagecraft/internal/expression"
	"github.com/stagecraft-go/stagecraft/kstatus"
)

// A rule is a compiled Spec. It is immutable.
type rule struct {
	names   []string // the fields of the object that expressions may use by name
	lines   []test
	message *expression.CEL // nil without one

	readsStatus bool // one of the lines reads the status
}

// A test is one of the expressions and the status for which it stands.
type test struct {
	field  string
	status kstatus.Status
	holds  *expression.CEL
}

func (r *rule) judge(o kstatus.Object) (kstatus.Result, bool) {
	s := expression.NewScope(o.Fields(), o.Now())
	s.Values = byName(s.Object, r.names)
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
	if _, reported := o.Fields()["status"]; failure != "" && !reported && r.readsStatus {
		return kstatus.InProgress.Because("NoStatus", r.text(s, "No status yet")), true
	}
	if failure != "" {
		return kstatus.InProgress.Because("ExpressionFailed", r.text(s, failure)), true
	}
	return kstatus.InProgress.Because("CurrentNotTrue", r.text(s, "Expression current is not true")), true
}

// topLevel are the fields that expressions can use without self.
var topLevel = []string{"apiVersion", "kind", "metadata", "spec", "status", "data"}

// readsStatus reports whether an expression reads the status of the object.
func readsStatus(source string) (reads bool) {
	tree, err := parse(source)
	if err != nil {
		return false
	}
	ast.PreOrderVisit(canonical(tree, nil), ast.NewExprVisitor(func(e ast.Expr) {
		field, isRoot := rootField(e)
		reads = reads || isRoot && field == "status"
	}))
	return reads
}

func isTopLevel(name string) bool { return slices.Contains(topLevel, name) }

// byName returns only these fields: others could have the name of something else, such as self.
func byName(object map[string]any, names []string) map[string]any {
	values := make(map[string]any, len(names))
	for _, name := range names {
		if v, ok := object[name]; ok {
			values[name] = v
		}
	}
	return values
}

var reasons = map[kstatus.Status]string{kstatus.InProgress: "InProgress", kstatus.Failed: "Failed"}

// text returns the message of the Spec, or otherwise the given one.
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
