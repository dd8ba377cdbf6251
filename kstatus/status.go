package kstatus

// A Status says how far the world is from what an object asks for.
type Status string

// The statuses, in the words of upstream.
const (
	InProgress  Status = "InProgress"  // on the way to the desired state
	Failed      Status = "Failed"      // an error, or not enough progress
	Current     Status = "Current"     // the desired state is reached
	Terminating Status = "Terminating" // being deleted
	NotFound    Status = "NotFound"    // not in the cluster; no rule returns it
	Unknown     Status = "Unknown"     // cannot be told; the reason says why
)

// The abnormal-true condition types: absent means all is well.
const (
	Reconciling = "Reconciling"
	Stalled     = "Stalled"
)

// Because returns a result of this status. The reason is one CamelCase word ("" for Current, by custom), the message one line for people.
func (s Status) Because(reason, message string) Result { return s.because(reason, text(message)) }

// From returns a result of this status with the reason, the message and the place of a condition of the object.
func (s Status) From(c Condition) Result {
	return s.Because(c.Reason, c.Message).in("status.conditions", c.Type)
}

func (s Status) because(reason string, m message) Result {
	return Result{Status: s, Reason: reason, message: m}
}

// counting is saying for the usual case of one number.
func (s Status) counting(format string, n int64) Result {
	return Result{Status: s, message: message{format: format, numbers: [3]int64{n}}}
}

func (s Status) saying(m message) Result { return Result{Status: s, message: m} }

// counting makes an empty result a verdict whose message has one number. It writes no more than is needed, for a Result is long.
func (r *Result) counting(s Status, format string, n int64) {
	r.Status, r.message.format, r.message.numbers[0] = s, format, n
}

// progress stores a line of a rule's table: what is missing, and the field that says so.
func (r *Result) progress(reason string, m message, field string) {
	*r = InProgress.because(reason, m).At(field)
}

// progress is the same for a [Rule].
func progress(reason string, m message, field string) (Result, bool) {
	return InProgress.because(reason, m).At(field), true
}
