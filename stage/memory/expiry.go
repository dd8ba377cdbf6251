package memory

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// eventTTL is the time from the last write of an Event to its removal: the default of
// kube-apiserver's flag --event-ttl.
const eventTTL = time.Hour

// An expiry is the time at which an Event is removed, unless a write comes before.
type expiry struct {
	record *record
	at     int64 // in Unix seconds
}

// An expiries has the Events of a store in the order of their expiries. It has no timer: each
// write, and each read of Events, removes the expired Events.
type expiries struct {
	queue []expiry
	last  map[*record]int64 // the expiry of each Event; earlier entries of the queue do not count
}

// hasTTL reports whether the objects of a resource expire.
func hasTTL(r schema.GroupResource) bool {
	return r.Resource == "events" && (r.Group == "" || r.Group == "events.k8s.io")
}

// keep makes an Event that was written now stay for eventTTL.
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

// due reports whether the first Event has expired.
func (e *expiries) due(now time.Time) bool { return len(e.queue) > 0 && e.queue[0].at < now.Unix() }

// expire removes the expired Events.
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

// expireBeforeRead removes the expired Events before a read of Events.
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
