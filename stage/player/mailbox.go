package player

import (
	"sync"

	"github.com/stagecraft-go/stagecraft/stage"
)

// A mailbox passes observations of the watchers and requests of the Player on to a worker. It keeps
// only the last state of each object, so that a watcher never waits for a worker that waits for its
// transport, and memory is bounded by the number of objects.
type mailbox struct {
	wake chan struct{} // has a token while there is something to take

	mu       sync.Mutex
	waiting  map[stage.Key]observation
	order    []stage.Key
	set      *stage.Set // to use; nil: as before
	refilter bool       // ask the filter anew about every object
}

// mail is what was in a mailbox.
type mail struct {
	observations []observation // in the order of arrival of their objects
	set          *stage.Set
	refilter     bool
}

func newMailbox() *mailbox {
	return &mailbox{wake: make(chan struct{}, 1), waiting: map[stage.Key]observation{}}
}

// put adds a state, in the place of an older one of the object that is still waiting.
func (m *mailbox) put(s observation) {
	m.add(func() {
		if _, known := m.waiting[s.key]; !known {
			m.order = append(m.order, s.key)
		}
		m.waiting[s.key] = s
	})
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

// len is how many objects have observations that the worker has not taken.
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
