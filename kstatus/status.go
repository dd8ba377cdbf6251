package kstatus

import "slices"

// A Status says how far an object is from its desired state.
type Status string

// The statuses have the names of upstream.
const (
	InProgress  Status = "InProgress"  // the controller is still working towards the desired state
	Failed      Status = "Failed"      // an error, or not enough progress
	Current     Status = "Current"     // the desired state is reached
	Terminating Status = "Terminating" // the object is being deleted
	NotFound    Status = "NotFound"    // the cluster does not have the object; no rule returns it
	Unknown     Status = "Unknown"     // the status cannot be determined; the reason says why
)

// The types of the abnormal-true conditions. An object without them is in order.
const (
	Reconciling = "Reconciling" // goes with InProgress
	Stalled     = "Stalled"     // goes with Failed
)

// Because returns a result with this status. The reason is one CamelCase word, "" for Current by
// convention. The message is one line for people.
func (s Status) Because(reason, message string) Result { return s.because(reason, text(message)) }

// From returns a result with this status, and with the reason, the message and the path of a
// condition of the object.
func (s Status) From(c Condition) Result {
	return s.Because(c.Reason, c.Message).onCondition(c.Type)
}

func (s Status) because(reason string, m message) Result {
	return Result{Status: s, Reason: reason, message: m}
}

// Aggregate returns the status of several objects that shall all reach this, the desired status:
// Failed if one failed, else Unknown if one is unknown, else the desired status if all have it, else
// InProgress. Without objects it is the desired status.
func (desired Status) Aggregate(statuses ...Status) Status {
	for _, s := range []Status{Failed, Unknown} {
		if slices.Contains(statuses, s) {
			return s
		}
	}
	for _, s := range statuses {
		if s != desired {
			return InProgress
		}
	}
	return desired
}
