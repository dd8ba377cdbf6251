package faults

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// Faults of requests and of watches, by name.
const (
	Refused  = "refused"  // a request is not done, and fails
	Lost     = "lost"     // a write is done, and its answer lost
	Hanging  = "hanging"  // there is no answer, whether a write was done or not
	Conflict = "conflict" // a write is not done; the answer is a conflict all the same
	Twice    = "twice"    // a proxy sends a write twice, and passes on the second answer
	Late     = "late"     // a write is done after the client was told that the connection failed
	Expired  = "expired"  // a list or watch is too old
	Stale    = "stale"    // a list is that of some time ago
	Stalled  = "stalled"  // a watch reports nothing more until it ends
	Repeated = "repeated" // a watch reports a change twice
	Old      = "old"      // a watch reports an older change of an object after a newer one
	Closed   = "closed"   // a watch ends
	Delayed  = "delayed"  // a watch reports a change later
	Broken   = "broken"   // a watch ends with an error
)

// All lists the faults. All but Old happen with lawful servers and networks.
var All = []string{Refused, Lost, Hanging, Conflict, Twice, Late, Expired, Stale, Stalled, Repeated, Old, Closed, Delayed, Broken}

// Dice decide which faults strike.
type Dice struct {
	mu     sync.Mutex
	random *rand.Rand
	kinds  map[string]bool
	rate   float64
	heal   time.Time
}

// NewDice returns dice for some of the faults. Each chance for a fault is taken at a rate between 0 and
// 1, until heal.
func NewDice(seed uint64, kinds []string, rate float64, heal time.Time) *Dice {
	d := &Dice{random: rand.New(rand.NewPCG(seed, 5)), kinds: map[string]bool{}, rate: rate, heal: heal}
	for _, kind := range kinds {
		d.kinds[kind] = true
	}
	return d
}

// Heal returns the moment from which no fault strikes.
func (d *Dice) Heal() time.Time { return d.heal }

// N returns a number below n.
func (d *Dice) N(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.random.IntN(n)
}

// Strike returns one of the faults, or "" for none.
func (d *Dice) Strike(of ...string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if fault := of[d.random.IntN(len(of))]; time.Now().Before(d.heal) && d.random.Float64() < d.rate && d.kinds[fault] {
		return fault
	}
	return ""
}

// millis returns a pause shorter than n milliseconds.
func (d *Dice) millis(n int) time.Duration { return time.Duration(d.N(n)) * time.Millisecond }

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
