package measure

import (
	"slices"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/simulation/record"
)

// A Span is the time of one object between two of its records.
type Span struct {
	Begin, End record.Record
}

// Duration returns how long it is.
func (s Span) Duration() time.Duration { return s.End.Time.Sub(s.Begin.Time) }

// Where selects records.
type Where func(record.Record) bool

// In selects the records of objects that are in one of some states.
func In(states ...string) Where {
	return func(r record.Record) bool { return slices.Contains(states, r.To) }
}

// ended selects what neither waits nor uses anything any more.
var ended = In(record.Succeeded, record.Failed, record.Complete, record.Deleted)

// object is what tells one object from another, also from one of the same name before it.
type object struct{ kind, namespace, name, uid string }

func objectOf(r record.Record) object { return object{r.Kind, r.Namespace, r.Name, r.UID} }

// spansOf returns for each object of a kind the time from the first record that matches from to the first one at or after it that matches
// to. A nil from matches the first record of the object. They are in the order of their ends.
func spansOf(log record.Log, kind string, from, to Where) []Span {
	var spans []Span
	begun, done := map[object]record.Record{}, map[object]bool{}
	for _, r := range log {
		if r.Kind != kind {
			continue
		}
		key := objectOf(r)
		begin, ok := begun[key]
		if !ok && (from == nil || from(r)) {
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

// staysOf returns the times that objects of a kind matched without a break, in the order of their ends.
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
		case is && !was:
			begun[key] = r
		case was && !is:
			spans = append(spans, Span{begin, r})
			delete(begun, key)
		}
	}
	return spans
}
