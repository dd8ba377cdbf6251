package labtest

import (
	"fmt"
	"strings"
)

// mostErrors is how many different errors a message has.
const mostErrors = 20

// logErrors logs the errors of Stages and controllers since it was called last, each once.
func (l *Lab) logErrors() {
	l.t.Helper()
	text := l.errorLines()
	if t, ok := l.t.(interface{ Logf(string, ...any) }); ok && text != "" {
		t.Logf("labtest: Stages and controllers had errors%s", text)
	}
}

// errorLines returns a line for each different error of Stages and controllers that no earlier
// message had. It returns "" without new errors.
func (l *Lab) errorLines() string {
	all := distinct(l.errors[l.reported:])
	l.reported = len(l.errors)
	var b strings.Builder
	for i, err := range all {
		if i == mostErrors {
			fmt.Fprintf(&b, "\n  and %d more", len(all)-i)
			break
		}
		fmt.Fprintf(&b, "\n  %s", strings.ReplaceAll(err.Error(), "\n", "\n  "))
	}
	return b.String()
}
