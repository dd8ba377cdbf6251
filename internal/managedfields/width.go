package managedfields

import "fmt"

// The sets of fields of structured-merge-diff are sorted slices. To add the members of an object in
// random order costs the square of their number: 200,000 members take a minute.
const (
	mostMembers = 30_000 // of a map
	mostItems   = 30_000 // of a list of texts or maps
)

// A WidthError is an object with a map or list that has too many members for its fields to have
// owners.
type WidthError struct {
	Field   string // a member of a map with that field; "" for the object
	Members int
}

func (e *WidthError) Error() string {
	return fmt.Sprintf("the field %q has %d members: managed fields can have %d in a map or list", e.Field, e.Members, mostMembers)
}

// checkWidth returns a WidthError for a value with a map or list that is too long.
func checkWidth(field string, v any) error {
	switch v := v.(type) {
	case map[string]any:
		if len(v) > mostMembers {
			return &WidthError{field, len(v)}
		}
		for name, member := range v {
			if err := checkWidth(name, member); err != nil {
				return err
			}
		}
	case []any:
		if len(v) > mostItems && isNamed(v[0]) {
			return &WidthError{field, len(v)}
		}
		for _, item := range v {
			if err := checkWidth(field, item); err != nil {
				return err
			}
		}
	}
	return nil
}

// isNamed reports whether items like this one can be fields of their own.
func isNamed(item any) bool {
	switch item.(type) {
	case string, map[string]any:
		return true
	}
	return false
}
