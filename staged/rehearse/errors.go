package rehearse

import (
	"fmt"
	"slices"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/position"
)

// Error is a fault of an [Input] or of [KubeStellarOptions].
type Error struct {
	Field string // such as Input.Clusters[2].Name
	Err   error  // what is wrong
}

// Error prints `Input.Clusters[2].Name: what is wrong`.
func (e *Error) Error() string { return e.Field + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Errors is every fault, in the order of the fields. [Run] and [NewKubeStellar] return it.
type Errors []*Error

// Error prints one fault a line.
func (e Errors) Error() string { return position.Lines(e) }

// Unwrap returns the faults, for errors.Is and errors.As.
func (e Errors) Unwrap() []error { return position.Unwrapped(e) }

func (e *Errors) add(field string, err error) { *e = append(*e, &Error{field, err}) }

func (e *Errors) addf(field, format string, args ...any) { e.add(field, fmt.Errorf(format, args...)) }

// err is nil if there are no faults.
func (e Errors) err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// unique adds a fault for a name that is missing, or that is among those before.
func (e *Errors) unique(field, name string, before []string) {
	switch i := slices.Index(before, name); {
	case name == "":
		e.addf(field, "missing")
	case i >= 0:
		e.addf(field, "number %d has the name %q too", i, name)
	}
}

func (e *Errors) duration(field string, d time.Duration) {
	if d < 0 {
		e.addf(field, "want at least 0s, got %s", d)
	}
}
