package position

import "strings"

// Lines prints faults, one a line. With [Unwrapped] it is what the lists of faults of the packages
// have in common.
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
