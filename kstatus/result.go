package kstatus

import (
	"strconv"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/printable"
)

// A Result is a status and the reason for it. It is a comparable value. Its message is formatted
// only when the caller wants it, so that computing a result allocates nothing.
type Result struct {
	Status Status
	// Reason is one CamelCase word; "" for Current in the standard profile. The reason of a condition is
	// as the object has it, so it may be any text: [Result.String] prints it safely. A phase begins with
	// a capital here.
	Reason string

	// Suspended: someone paused the object intentionally. The status is Current, and nothing happens
	// until someone resumes it.
	Suspended bool
	// Terminal: the object Failed, and the controller will not recover it by trying again.
	Terminal bool
	// Basis is what the verdict rests on, 0 for a result that no rule returned.
	Basis Basis
	// RecheckAfter is the time after which the verdict can change although the object does not; 0
	// if it cannot.
	RecheckAfter time.Duration

	message message
	path    string // the field that decided
	item    string // the list element at path (its type or name), or the map field; "": path itself
	skipped int32  // 1 + index of the first condition that could not be read; 0: none; or skippedGeneration

	// conditionText: the condition of this result has the first argument of message for its
	// message, not the formatted text.
	conditionText bool
}

// Message returns one line for people. Control characters and other characters that are not shown as
// themselves are escaped as Go does, such as \n and \x1b: the text may come from the object.
func (r Result) Message() string { return printable.Line(r.message.String()) }

// Field returns the path of the field that decided, "" if no single field did. Elements of lists
// are named by their key: `status.conditions[type="Ready"]`. What is not printable is escaped as in
// [Result.Message].
func (r Result) Field() string { return printable.Line(r.field()) }

func (r Result) field() string {
	switch r.path {
	case "status.containerStatuses", "status.initContainerStatuses":
		return elementPath(r.path, "name", r.item)
	}
	switch {
	case r.item == "":
		return r.path
	case strings.HasSuffix(r.path, "conditions"):
		return elementPath(r.path, "type", r.item)
	}
	return r.path + "." + r.item
}

// elementPath returns the path of the element of a list that has a value for a key.
func elementPath(list, key, value string) string {
	if value == "" {
		return list
	}
	return list + `[` + key + `="` + value + `"]`
}

func conditionPath(kind string) string { return elementPath("status.conditions", "type", kind) }

// skippedGeneration stands for an observedGeneration that is no number.
const skippedGeneration = -1

const generationPath = "status.observedGeneration"

// Skipped returns the path of what could not be read and was therefore ignored: an
// observedGeneration that is no number, or else the first such condition; "" if all could be read.
func (r Result) Skipped() string {
	switch r.skipped {
	case 0:
		return ""
	case skippedGeneration:
		return generationPath
	}
	return indexPath(int(r.skipped - 1))
}

func indexPath(index int) string { return "status.conditions[" + strconv.Itoa(index) + "]" }

// Conditions returns the result as conditions: Reconciling for InProgress, Stalled for Failed, none
// for the other statuses. Reasons and messages are as the object has them, without escapes.
func (r Result) Conditions() []Condition {
	kind := ""
	switch r.Status {
	case InProgress:
		kind = Reconciling
	case Failed:
		kind = Stalled
	default:
		return nil
	}
	c := Condition{Type: kind, Status: "True", Reason: r.Reason, Message: r.message.String()}
	if r.conditionText {
		c.Message = r.message.words[0]
	}
	return []Condition{c}
}

// At returns the result with the path of the field that decided, such as "status.phase".
func (r Result) At(field string) Result {
	r.path, r.item = field, ""
	return r
}

// atItem is At for an element of a list or a field of a map. [Result.Field] joins the two.
func (r Result) atItem(path, item string) Result {
	r.path, r.item = path, item
	return r
}

// onCondition is At for a condition.
func (r Result) onCondition(kind string) Result { return r.atItem("status.conditions", kind) }

// on returns the result as one that rests on a basis.
func (r Result) on(b Basis) Result {
	r.Basis = b
	return r
}

// suspended returns the result like that of an object that someone paused.
func (r Result) suspended() Result {
	r.Suspended = true
	return r
}

// terminal returns the result as one that trying again does not change.
func (r Result) terminal() Result {
	r.Terminal = true
	return r
}

// String returns the status, the reason and the message on one line: control characters are escaped,
// and what is longer than 1 KiB is cut.
func (r Result) String() string {
	s := string(r.Status)
	if r.Reason != "" {
		s += " " + r.Reason
	}
	if m := r.Message(); m != "" {
		s += ": " + m
	}
	return printable.Text(s)
}

// A message is a format and its arguments. Each %s of the format stands for the next of the words
// and each %d for the next of the numbers; there are no other verbs.
type message struct {
	format  string
	words   [2]string
	numbers [3]int64
}

// text returns a message that is not formatted.
func text(s string) message { return message{format: "%s", words: [2]string{s}} }

// withWords returns a message with at most two strings as arguments.
func withWords(format string, words ...string) message {
	m := message{format: format}
	copy(m.words[:], words)
	return m
}

// withNumbers returns a message with at most three numbers as arguments.
func withNumbers(format string, numbers ...int64) message {
	m := message{format: format}
	copy(m.numbers[:], numbers)
	return m
}

func (m message) String() string {
	if m.format == "%s" {
		return m.words[0]
	}
	var b strings.Builder
	words, numbers := m.words[:], m.numbers[:]
	rest := m.format
	for {
		before, verb, found := strings.Cut(rest, "%")
		b.WriteString(before)
		switch {
		case !found:
			return b.String()
		case strings.HasPrefix(verb, "s") && len(words) > 0:
			b.WriteString(words[0])
			words = words[1:]
		case strings.HasPrefix(verb, "d") && len(numbers) > 0:
			b.WriteString(strconv.FormatInt(numbers[0], 10))
			numbers = numbers[1:]
		}
		rest = verb[min(1, len(verb)):]
	}
}
