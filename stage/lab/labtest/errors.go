package labtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// mostErrors is how many different errors a message has.
const mostErrors = 20

// mostKept is how many errors a lab keeps. A lab that runs for long can have any number of them.
const mostKept = 10_000

// keepError keeps an error for messages, and forgets the oldest ones if there are too many.
func (l *Lab) keepError(err error) {
	if l.livelock == nil && (errors.Is(err, stage.ErrLivelock) || errors.Is(err, reconcile.ErrLivelock)) {
		l.livelock = err
	}
	if len(l.errors) == mostKept {
		const forgotten = mostKept / 2
		l.errors = slices.Clone(l.errors[forgotten:])
		l.reported = max(0, l.reported-forgotten)
	}
	l.errors = append(l.errors, err)
}

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
