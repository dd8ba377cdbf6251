package explore

import (
	"fmt"
	"strings"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// A Target says which States are to be reached. Any function will do; [ParseTarget] makes those that can be written in a few words.
type Target func(State) bool

// Ready is met by a start object whose condition Ready is True.
func Ready(s State) bool { return condition(s, "Ready") == "True" }

// Gone is met when the start object is no more.
func Gone(s State) bool { return s.Object() == nil }

// ParseTarget reads a Target:
//
//	Ready              the condition Ready of the start object is True
//	Ready=False        ... is False
//	phase=Succeeded    .status.phase is written like Succeeded
//	.spec.volumeName   the field is there
//	.spec.replicas=3   it is written like 3
//	deleting           the object has a deletionTimestamp
//	gone               it is no more
//
// What begins with a capital is the type of a condition, with a point the path of a field, else a field of the status.
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

// field is met by a start object that has it, with the value that is wanted if it is compared.
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

// condition is the status of a condition of the start object.
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
