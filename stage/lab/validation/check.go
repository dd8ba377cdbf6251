package validation

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// A check looks at one field of an object and adds its faults.
type check func(f fieldOf)

// A fieldOf is a field of an object.
type fieldOf struct {
	*faults
	base   *field.Path
	name   string         // of the field below base, "" if it is base: most fields are sound, and have no path
	value  any            // nil if it is missing
	within map[string]any // the object
}

// faults are the faults of one object.
type faults struct {
	list     field.ErrorList
	kind     string
	object   string         // its name
	before   map[string]any // nil if the object is new
	isStrict bool           // it is an Event of events.k8s.io
}

func (f fieldOf) path() *field.Path {
	if f.name == "" {
		return f.base
	}
	return child(f.base, f.name)
}

// in reports whether the object is of a kind.
func (f *faults) in(kind string) bool { return f.kind == kind }

func (f *faults) add(fault *field.Error) { f.list = append(f.list, fault) }

// rules are the checks of the fields of a type, in this order. A rule without a name is about the
// whole object.
type rules []rule

type rule struct {
	name    string
	isGiven bool // a missing field is not checked
	checks  []check
}

// of is a rule for a field, also if it is missing.
func of(name string, checks ...check) rule { return rule{name, false, checks} }

// given is a rule for a field that is not missing.
func given(name string, checks ...check) rule { return rule{name, true, checks} }

// check checks an object.
func (rs rules) check(all *faults, path *field.Path, obj map[string]any) {
	for _, r := range rs {
		f := fieldOf{all, path, "", obj, obj}
		if r.name != "" {
			if f.value = obj[r.name]; f.value == nil && r.isGiven {
				continue
			}
			f.name = r.name
		}
		for _, c := range r.checks {
			c(f)
		}
	}
}

func child(path *field.Path, name string) *field.Path {
	if path == nil {
		return field.NewPath(name)
	}
	return path.Child(name)
}

// in checks the object in a field, if the field exists.
func in(rs rules) check {
	return func(f fieldOf) {
		if m, is := f.value.(map[string]any); is {
			rs.check(f.faults, f.path(), m)
		}
	}
}

// always checks the object in a field; a missing object is empty.
func always(rs rules) check {
	return func(f fieldOf) {
		m, _ := f.value.(map[string]any)
		rs.check(f.faults, f.path(), m)
	}
}

// each checks the objects in the list of a field.
func each(rs rules) check {
	return func(f fieldOf) {
		for i, v := range list(f.value) {
			if m, is := v.(map[string]any); is {
				rs.check(f.faults, f.path().Index(i), m)
			}
		}
	}
}

// elements checks the values in the list of a field.
func elements(checks ...check) check {
	return func(f fieldOf) {
		for i, v := range list(f.value) {
			for _, c := range checks {
				c(fieldOf{f.faults, f.path().Index(i), "", v, f.within})
			}
		}
	}
}

// atCreation makes checks only of objects that are new.
func atCreation(checks ...check) check {
	return func(f fieldOf) {
		for _, c := range checks {
			if f.before == nil {
				c(f)
			}
		}
	}
}

// when makes checks only if a field of the same object has one of the values.
func when(name string, values []string, checks ...check) check {
	return func(f fieldOf) {
		if slices.Contains(values, text(f.within[name])) {
			for _, c := range checks {
				c(f)
			}
		}
	}
}

// required refuses a field that is missing or empty.
func required(f fieldOf) { requiredFor("")(f) }

func requiredFor(detail string) check {
	return func(f fieldOf) {
		if isEmpty(f.value) {
			f.add(field.Required(f.path(), detail))
		}
	}
}

// notNil refuses a field that is missing; it may be empty.
func notNil(detail string) check {
	return func(f fieldOf) {
		if f.value == nil {
			f.add(field.Required(f.path(), detail))
		}
	}
}

var requiredIfNil = notNil("")

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	case int64:
		return v == 0
	}
	return false
}

// strictly is form, for a text that must not be empty.
func strictly(faultsOf func(string) []string) check {
	return func(f fieldOf) {
		for _, message := range faultsOf(text(f.value)) {
			f.add(field.Invalid(f.path(), text(f.value), message))
		}
	}
}

// form refuses a text if a function of package validation refuses it. It does not check an empty
// text.
func form(faultsOf func(string) []string) check {
	return func(f fieldOf) {
		if s := text(f.value); s != "" && !isPlain(s) {
			for _, message := range faultsOf(s) {
				f.add(field.Invalid(f.path(), s, message))
			}
		}
	}
}

// isPlain is true for most texts that have any of the forms, which then need not be matched with the
// regular expressions of package validation.
func isPlain(s string) bool {
	if s == "" || len(s) > 15 || s[0] < 'a' || s[0] > 'z' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && (c != '-' || s[i-1] == '-') {
			return false
		}
	}
	return true
}

// oneOf refuses a text that is not one of the values. The values are in the order of the server's
// message. It does not check an empty text.
func oneOf(values ...string) check {
	return func(f fieldOf) {
		if s := text(f.value); s != "" && !slices.Contains(values, s) {
			f.add(field.NotSupported(f.path(), s, values))
		}
	}
}

// between refuses a number outside bounds, with a text.
func between(least, most int64, message string) check {
	return func(f fieldOf) {
		if n, is := f.value.(int64); is && (n < least || n > most) {
			f.add(field.Invalid(f.path(), n, message))
		}
	}
}

const maxInt32 = 1<<31 - 1

// limits of numbers
var (
	notNegative  = between(0, 1<<62, "must be greater than or equal to 0")
	positive     = between(1, 1<<62, "must be greater than 0")
	aboveZero    = between(1, 1<<62, "must be greater than zero")
	portNumber   = between(1, 65535, "must be between 1 and 65535, inclusive")
	idOfUser     = between(0, maxInt32, "must be between 0 and 2147483647, inclusive")
	lifeInSecond = between(1, maxInt32, "must be between 1 and 2147483647, inclusive")
)

// unique refuses the second element of a list with the same text in a field.
func unique(name string) check {
	return func(f fieldOf) {
		seen := map[string]bool{}
		for i, v := range list(f.value) {
			m, _ := v.(map[string]any)
			s := text(m[name])
			if s != "" && seen[s] {
				f.add(field.Duplicate(f.path().Index(i).Child(name), s))
			}
			seen[s] = true
		}
	}
}

// distinct refuses the second element of a list with the same value.
func distinct(f fieldOf) {
	seen := map[string]bool{}
	for i, v := range list(f.value) {
		s := fmt.Sprint(v)
		if seen[s] {
			f.add(field.Duplicate(f.path().Index(i), v))
		}
		seen[s] = true
	}
}

// quantities checks the amounts in a map.
func quantities(bound func(resource.Quantity) string) check {
	return func(f fieldOf) {
		m, _ := f.value.(map[string]any)
		for _, name := range sortedKeys(m) {
			q, ok := quantity(m[name])
			if !ok {
				continue
			}
			if message := bound(q); message != "" {
				f.add(field.Invalid(f.path().Key(name), q.String(), message))
			}
		}
	}
}

func quantity(v any) (resource.Quantity, bool) {
	if v == nil {
		return resource.Quantity{}, false
	}
	q, err := resource.ParseQuantity(fmt.Sprint(v))
	return q, err == nil
}

func atLeastZero(q resource.Quantity) string {
	if q.Sign() < 0 {
		return "must be greater than or equal to 0"
	}
	return ""
}

func moreThanZero(q resource.Quantity) string {
	if q.Sign() <= 0 {
		return "must be greater than zero"
	}
	return ""
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func nested(m map[string]any, path ...string) map[string]any {
	for _, name := range path {
		m, _ = m[name].(map[string]any)
	}
	return m
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
