package stage

import "sync"

// A mailbox passes what watchers see on to a worker, and what the Player wants of it. It keeps the last state of each object only, so that a
// watcher never waits for a worker that waits for its transport, and memory is bounded by the number of objects.
type mailbox struct {
	wake chan struct{} // has a token while there is something to take

	mu      sync.Mutex
	waiting map[Key]sighting
	order   []Key
	set     *Set // to use; nil: as before
	anew    bool // ask anew which objects are played
}

// post is what was in a mailbox.
type post struct {
	sightings []sighting // in the order of arrival of their objects
	set       *Set
	anew      bool
}

func newMailbox() *mailbox {
	return &mailbox{wake: make(chan struct{}, 1), waiting: map[Key]sighting{}}
}

// put adds a state, in the place of an older one of the object that is still waiting.
func (m *mailbox) put(s sighting) {
	m.add(func() {
		if _, known := m.waiting[s.key]; !known {
			m.order = append(m.order, s.key)
		}
		m.waiting[s.key] = s
	})
}

func (m *mailbox) use(s *Set) { m.add(func() { m.set = s }) }

func (m *mailbox) reconsider() { m.add(func() { m.anew = true }) }

func (m *mailbox) add(change func()) {
	m.mu.Lock()
	change()
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// len is how many objects have news that the worker has not taken.
func (m *mailbox) len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.order)
}

// take empties the mailbox.
func (m *mailbox) take() post {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := post{sightings: make([]sighting, len(m.order)), set: m.set, anew: m.anew}
	for i, key := range m.order {
		p.sightings[i] = m.waiting[key]
	}
	clear(m.waiting)
	m.order, m.set, m.anew = m.order[:0], nil, false
	return p
}
