package explore

import (
	"fmt"
	"strings"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// A Target reports whether a State is one to reach. Any function can be a Target; [ParseTarget]
// makes Targets from text.
type Target func(State) bool

// Ready matches a State whose start object has the condition Ready with status True.
func Ready(s State) bool { return condition(s, "Ready") == "True" }

// Gone matches a State without the start object.
func Gone(s State) bool { return s.Object() == nil }

// ParseTarget reads a Target:
//
//	Ready              the condition Ready of the start object is True
//	Ready=False        ... is False
//	phase=Succeeded    .status.phase is Succeeded
//	.spec.volumeName   the field exists
//	.spec.replicas=3   the field has this value
//	deleting           the object has a deletionTimestamp
//	gone               the object does not exist any more
//
// Text that begins with a capital letter is the type of a condition. Text that begins with a dot is
// the path of a field. Other text is a field of the status.
func ParseTarget(text string) (Target, error) {
	name, want, compared := strings.Cut(text, "=")
	switch {
	case text == "gone":
		return Gone, nil
	case text == "deleting":
		return field(".metadata.deletionTimestamp", "", false), nil
	case name == "" || name == "." || compared && want == "" || strings.ContainsAny(name, " []|()"):
		return nil, fmt.Errorf("target %q: want a condition such as Ready, a field such as phase=Succeeded or .spec.volumeName, deleting, or gone", text)
	case name[0] >= 'A' && name[0] <= 'Z':
		if !compared {
			want = "True"
		}
		return func(s State) bool { return condition(s, name) == want }, nil
	case name[0] != '.':
		name = ".status." + name
	}
	return field(name, want, compared), nil
}

// field matches a start object that has the field, with the value want if compared is true.
func field(path, want string, compared bool) Target {
	steps := strings.Split(strings.TrimPrefix(path, "."), ".")
	return func(s State) bool {
		obj := s.Object()
		if obj == nil {
			return false
		}
		v, ok := object.Get(obj.Object, steps...)
		return ok && v != nil && (!compared || fmt.Sprint(v) == want)
	}
}

// condition returns the status of a condition of the start object; "" without the condition.
func condition(s State, name string) string {
	obj := s.Object()
	if obj == nil {
		return ""
	}
	list, _ := object.Slice(obj.Object, "status", "conditions")
	for _, item := range list {
		m, _ := object.ToMap(item)
		if kind, _ := object.String(m, "type"); kind == name {
			status, _ := object.String(m, "status")
			return status
		}
	}
	return ""
}
