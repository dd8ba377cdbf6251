package measure

import (
	"slices"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/lab/record"
)

// A Span is the time between two records of one object.
type Span struct {
	Begin, End record.Record
}

// Duration returns how long it is.
func (s Span) Duration() time.Duration { return s.End.Time.Sub(s.Begin.Time) }

// A Where selects records.
type Where func(record.Record) bool

// In selects the records of objects in one of some states.
func In(states ...string) Where {
	return func(r record.Record) bool { return slices.Contains(states, r.To) }
}

// ended selects the objects that no longer wait nor use resources.
var ended = In(record.Succeeded, record.Failed, record.Complete, record.Deleted)

// An object identifies an object, and distinguishes it from an earlier one with the same name.
type object struct{ kind, namespace, name, uid string }

func objectOf(r record.Record) object { return object{r.Kind, r.Namespace, r.Name, r.UID} }

// spansOf returns the spans of [Between].
func spansOf(log record.Log, kind string, from, to Where) []Span {
	var spans []Span
	begun, done, older := map[object]record.Record{}, map[object]bool{}, map[object]bool{}
	for _, r := range log {
		if r.Kind != kind {
			continue
		}
		key := objectOf(r)
		begin, ok := begun[key]
		if from == nil && !ok && r.From != "" {
			older[key] = true // than the log
		}
		if !ok && (from == nil && !older[key] || from != nil && from(r)) {
			begin, ok = r, true
			begun[key] = r
		}
		if ok && !done[key] && to(r) {
			spans = append(spans, Span{begin, r})
			done[key] = true
		}
	}
	return spans
}

// staysOf returns the times during which objects of a kind matched without interruption, in the
// order of their ends.
func staysOf(log record.Log, kind string, in Where) []Span {
	var spans []Span
	begun := map[object]record.Record{}
	for _, r := range log {
		if r.Kind != kind {
			continue
		}
		key, is := objectOf(r), in(r)
		begin, was := begun[key]
		switch {
		case is && !was && r.From != r.To: // otherwise the beginning is not known
			begun[key] = r
		case was && !is:
			spans = append(spans, Span{begin, r})
			delete(begun, key)
		}
	}
	return spans
}
