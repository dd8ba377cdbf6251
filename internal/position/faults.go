package position

import (
	"fmt"
	"strings"
)

// Lines prints faults, one a line. The lists of faults of all packages use it and [Unwrapped].
func Lines[F error](faults []F) string {
	lines := make([]string, len(faults))
	for i, fault := range faults {
		lines[i] = fault.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrapped returns faults for errors.Is and errors.As.
func Unwrapped[F error](faults []F) []error {
	errs := make([]error, len(faults))
	for i, fault := range faults {
		errs[i] = fault
	}
	return errs
}

// MaxFaults is the largest number of faults of a file that are kept. Further faults are only
// counted, because a fault in each of many lines would make a message larger than the file.
const MaxFaults = 100

// More is the fault that gives the number of faults that are not reported.
func More(n int) error { return fmt.Errorf("and %d more faults", n) }
