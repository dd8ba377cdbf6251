package hunt

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// A Site is a place in a run. It is one write of a controller, or one event that a process sees. As
// text it is "operator Website default/a create Deployment #1" or "operator sees default/a MODIFIED
// Deployment #2".
type Site struct {
	// Process is the name of the process.
	Process string
	// Controller is the name of the one that writes; "sees" for an event.
	Controller string
	// Key is the object that is reconciled, or the one that the event is about.
	Key types.NamespacedName
	// Verb is create, update, patch, apply, delete, evict, exec, logs or usage; ADDED, MODIFIED or DELETED.
	Verb string
	// Kind is that of the object written, with the subresource as in "Deployment/status".
	Kind string
	// Nth counts the sites of a run that have all the rest in common, from 1.
	Nth int
}

const sees = "sees"

// IsWrite reports whether the site is a write, not an event.
func (s Site) IsWrite() bool { return s.Controller != sees }

// String prints the site as a plan has it.
func (s Site) String() string {
	return fmt.Sprintf("%s %s %s %s %s #%d", word(s.Process), word(s.Controller), s.Key, s.Verb, s.Kind, s.Nth)
}

// word quotes a name that has spaces.
func word(s string) string {
	if s == "" || strings.ContainsAny(s, " \t\n\"=#") {
		return strconv.Quote(s)
	}
	return s
}

// splitFields splits a line at spaces; quoted fields may have some.
func splitFields(line string) (all []string, err error) {
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		if line[0] != '"' {
			field, rest, _ := strings.Cut(line, " ")
			all, line = append(all, field), rest
			continue
		}
		quoted, err := strconv.QuotedPrefix(line)
		if err != nil {
			return nil, fmt.Errorf("a quotation mark is missing: %s", line)
		}
		field, _ := strconv.Unquote(quoted) // QuotedPrefix has checked it
		all, line = append(all, field), line[len(quoted):]
	}
	return all, nil
}

// parseKey parses namespace/name.
func parseKey(text string) (types.NamespacedName, bool) {
	namespace, name, ok := strings.Cut(text, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}, ok && name != ""
}
