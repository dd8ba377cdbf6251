package kstatus

// A check is a line of a rule's table: what is wrong, and what to say of it.
type check struct {
	fails   bool
	reason  string
	message message
	field   string
}

// failing returns the first check that fails, as InProgress.
func failing(checks ...check) (Result, bool) {
	for i := range checks {
		if c := &checks[i]; c.fails {
			return InProgress.because(c.reason, c.message).At(c.field), true
		}
	}
	return Result{}, false
}
