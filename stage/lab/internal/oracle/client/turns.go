package client

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// turns makes writes take place one after another, each some time after the previous write. Writes
// that are requested at the same instant are ordered by their texts: in a bubble, goroutines that
// begin together would otherwise write in any order.
//
// It is safe for concurrent use.
type turns struct {
	pause   time.Duration
	mutex   sync.Mutex
	waiting []turn
	last    time.Time // of the last write
}

type turn struct {
	at   time.Time
	text string
}

// wait returns when it is the turn of a write.
func (t *turns) wait(text string) {
	own := turn{time.Now(), text}
	t.mutex.Lock()
	t.waiting = append(t.waiting, own)
	t.mutex.Unlock()
	for {
		time.Sleep(t.pause)
		if t.take(own) {
			return
		}
	}
}

// take removes a turn if it is the next one, and no other turn was taken at this instant.
func (t *turns) take(own turn) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	now := time.Now()
	if slices.MinFunc(t.waiting, turn.compare) != own || !now.After(t.last) {
		return false
	}
	t.waiting = slices.Delete(t.waiting, slices.Index(t.waiting, own), slices.Index(t.waiting, own)+1)
	t.last = now
	return true
}

func (t turn) compare(other turn) int {
	return cmp.Or(t.at.Compare(other.at), cmp.Compare(t.text, other.text))
}
