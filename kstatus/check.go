package kstatus

// progress is a line of a rule's table: what is missing, and the field that says so.
func progress(reason string, m message, field string) (Result, bool) {
	return InProgress.because(reason, m).At(field), true
}
