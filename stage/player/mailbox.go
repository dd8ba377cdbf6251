package player

import (
	"sync"

	"github.com/stagecraft-go/stagecraft/stage"
)

// A mailbox is a queue without a limit, from the watchers and the Player to one worker. It keeps
// only the newest state of each object. So a watcher never waits for a worker that waits for its
// transport, and the number of objects bounds the memory.
type mailbox struct {
	wake chan struct{} // has a token while there is something to take

	mu       sync.Mutex
	waiting  map[stage.Key]observation
	order    []stage.Key
	set      *stage.Set // to use; nil: as before
	refilter bool       // call the filter again for every object
}

// mail is the content of a mailbox.
type mail struct {
	observations []observation // in the order of arrival of their objects
	set          *stage.Set
	refilter     bool
}

func newMailbox() *mailbox {
	return &mailbox{wake: make(chan struct{}, 1), waiting: map[stage.Key]observation{}}
}

// put adds a state. It replaces the state of the object that is still waiting, unless that is newer.
func (m *mailbox) put(s observation) {
	m.add(func() {
		waiting, known := m.waiting[s.key]
		if !known {
			m.order = append(m.order, s.key)
		}
		if known && s.isOlderThan(waiting) {
			s.obj = waiting.obj
		}
		s.again = known && !s.gone && (waiting.gone || waiting.again) && waiting.obj.GetUID() == s.obj.GetUID()
		m.waiting[s.key] = s
	})
}

// isOlderThan compares two states of one object. A deletion, and an object that is not watched any
// more, are always news.
func (s observation) isOlderThan(other observation) bool {
	states := !s.gone && !s.unwatched && !other.gone
	return states && s.obj.GetUID() == other.obj.GetUID() && version(s.obj) < version(other.obj)
}

func (m *mailbox) use(s *stage.Set) { m.add(func() { m.set = s }) }

func (m *mailbox) askRefilter() { m.add(func() { m.refilter = true }) }

func (m *mailbox) add(change func()) {
	m.mu.Lock()
	change()
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// len returns the number of objects with observations that the worker has not taken.
func (m *mailbox) len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.order)
}

// take empties the mailbox.
func (m *mailbox) take() mail {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := mail{observations: make([]observation, len(m.order)), set: m.set, refilter: m.refilter}
	for i, key := range m.order {
		p.observations[i] = m.waiting[key]
	}
	clear(m.waiting)
	m.order, m.set, m.refilter = m.order[:0], nil, false
	return p
}
