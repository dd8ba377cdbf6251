package memory

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// eventTTL is how long an Event stays after its last write. It is the default of kube-apiserver's
// flag --event-ttl.
const eventTTL = time.Hour

// An expiry is when an Event goes, unless it is written before.
type expiry struct {
	record *record
	at     int64 // in Unix seconds
}

// An expiries has the Events of a store in the order of their expiries. Nothing waits for them: each
// write, and each read of Events, removes those whose time is over.
type expiries struct {
	queue []expiry
	last  map[*record]int64 // when each Event goes; earlier entries of the queue do not count
}

// hasTTL reports whether the objects of a resource go after a time.
func hasTTL(r schema.GroupResource) bool {
	return r.Resource == "events" && (r.Group == "" || r.Group == "events.k8s.io")
}

// keep has an Event that was written now stay for eventTTL.
func (e *expiries) keep(r *record, now time.Time) {
	if e.last == nil {
		e.last = map[*record]int64{}
	}
	at := now.Add(eventTTL).Unix()
	if e.last[r] != at {
		e.last[r] = at
		e.queue = append(e.queue, expiry{r, at})
	}
}

// due reports whether the first Event has been there for longer than its time.
func (e *expiries) due(now time.Time) bool { return len(e.queue) > 0 && e.queue[0].at < now.Unix() }

// expire removes the Events whose time is over.
func (s *store) expire() {
	now := s.now()
	if !s.expiries.due(now) {
		return
	}
	for s.expiries.due(now) {
		next := s.expiries.queue[0]
		s.expiries.queue[0] = expiry{}
		s.expiries.queue = s.expiries.queue[1:]
		if s.expiries.last[next.record] == next.at {
			s.drop(next.record)
		}
	}
	s.settle()
}

// expireBeforeRead removes the Events whose time is over if a kind of Events is read.
func (c *Cluster) expireBeforeRead(gvk schema.GroupVersionKind) {
	if gvk.Kind != "Event" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire()
}

func (to copies) expiries(e expiries) (next expiries) {
	for _, x := range e.queue {
		if r := to.records[x.record]; r != nil {
			next.queue = append(next.queue, expiry{r, x.at})
		}
	}
	for r, at := range e.last {
		if next.last == nil {
			next.last = map[*record]int64{}
		}
		next.last[to.records[r]] = at
	}
	return next
}
