package kstatus

import (
	"strconv"
	"strings"
	"time"
)

// A Result is a status and why. It is a comparable value; text is formatted when it is asked for.
type Result struct {
	Status Status
	Reason string // one CamelCase word; "" for Current in the standard profile

	Suspended    bool          // held on purpose: Current, and nothing will happen until someone resumes it
	Terminal     bool          // Failed for good: retrying will not help
	RecheckAfter time.Duration // how long until time alone can change the verdict; 0: it cannot

	message  message
	path     string // the field that decided
	item     string // the element of the list at path, by type or name, or the field of the map; "" for the field itself
	skipped  int32  // 1 + index of the first condition that could not be read
	original bool   // the condition's message is the first word of the message, not its text
}

// Message is one line for people.
func (r Result) Message() string { return r.message.String() }

// Field is the path of the field that decided, "" if it was the absence of anything to say. Elements of lists are named by their key:
// `status.conditions[type="Ready"]`.
func (r Result) Field() string {
	if r.item == "" {
		return r.path
	}
	key, list := listKeys[r.path]
	switch {
	case !list && strings.HasSuffix(r.path, "conditions"):
		key = "type"
	case !list:
		return r.path + "." + r.item
	}
	return r.path + `[` + key + `="` + r.item + `"]`
}

// listKeys are the fields that name the elements of a list.
var listKeys = map[string]string{
	"status.containerStatuses":     "name",
	"status.initContainerStatuses": "name",
}

// Skipped is the path of the first condition that could not be read and was left out of account, "" if all could.
func (r Result) Skipped() string {
	if r.skipped == 0 {
		return ""
	}
	return skippedPath(int(r.skipped - 1))
}

func skippedPath(index int) string { return "status.conditions[" + strconv.Itoa(index) + "]" }

// Conditions is the verdict as conditions: Reconciling for InProgress, Stalled for Failed, none otherwise.
func (r Result) Conditions() []Condition {
	kind, abnormal := abnormal[r.Status]
	if !abnormal {
		return nil
	}
	c := Condition{Type: kind, Status: "True", Reason: r.Reason, Message: r.Message()}
	if r.original {
		c.Message = r.message.words[0]
	}
	return []Condition{c}
}

var abnormal = map[Status]string{InProgress: Reconciling, Failed: Stalled}

// At returns the result with the path of the field that decided, such as "status.phase".
func (r Result) At(field string) Result {
	r.path, r.item = field, ""
	return r
}

// on is At for a condition.
func (r Result) on(g glance) Result { return r.in("status.conditions", g.kind) }

// in is At for a field of a map, joined when someone asks.
func (r Result) in(path, field string) Result {
	r.path, r.item = path, field
	return r
}

// String is the status, the reason and the message on one line.
func (r Result) String() string {
	s := string(r.Status)
	if r.Reason != "" {
		s += " " + r.Reason
	}
	if m := r.Message(); m != "" {
		s += ": " + m
	}
	return s
}
