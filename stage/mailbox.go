package stage

import "sync"

// A mailbox passes what watchers see on to a worker. It keeps the last state of each object only, so that a watcher never waits for a worker that
// waits for its transport, and memory is bounded by the number of objects.
type mailbox struct {
	wake chan struct{} // has a token while there is something to take

	mu      sync.Mutex
	waiting map[Key]sighting
	order   []Key
}

func newMailbox() *mailbox {
	return &mailbox{wake: make(chan struct{}, 1), waiting: map[Key]sighting{}}
}

// put adds a state, in the place of an older one of the object that is still waiting.
func (m *mailbox) put(s sighting) {
	m.mu.Lock()
	if _, known := m.waiting[s.key]; !known {
		m.order = append(m.order, s.key)
	}
	m.waiting[s.key] = s
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// take returns what is waiting, in the order of arrival of its objects.
func (m *mailbox) take() []sighting {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]sighting, len(m.order))
	for i, key := range m.order {
		all[i] = m.waiting[key]
	}
	clear(m.waiting)
	m.order = m.order[:0]
	return all
}
