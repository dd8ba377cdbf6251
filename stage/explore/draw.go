package explore

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/stagecraft-go/stagecraft/delay"
)

const (
	z99       = 2.576   // standard deviations on both sides that hold 99% of a normal distribution
	patience  = 100_000 // transitions after which a run is given up
	stream    = 0x9e3779b97f4a7c15
	notChosen = -1
)

func sqrt(x float64) float64 { return math.Sqrt(max(x, 0)) }

// draw estimates the times by runs that are drawn.
func (w *walk) draw(t *Times, samples int, seed uint64) {
	r := run{walk: w, random: rand.New(rand.NewPCG(seed, stream)), pending: make([]pending, w.actors)}
	var mean float64
	unknown := 0
	for range samples {
		end, arrived := r.once()
		switch {
		case arrived:
			t.points = append(t.points, end)
			mean += float64(end)
		case end == never:
			unknown++
		}
	}
	slices.Sort(t.points)
	n := len(t.points)
	for i := range t.points {
		t.shares = append(t.shares, float64(i+1)/float64(samples))
	}
	t.Samples, t.Reach, t.Unknown = samples, float64(n)/float64(samples), float64(unknown)/float64(samples)
	if n == 0 {
		return
	}
	t.Mean = time.Duration(mean / float64(n))
	if w.race {
		t.Min, t.Max = t.points[0], t.points[n-1]
	}
}

// A run is one life after the other.
type run struct {
	*walk
	random  *rand.Rand
	pending []pending // of each actor
}

// pending is what was drawn for an object when it entered a Stage.
type pending struct {
	entered bool // whether it is in one
	move    int  // in the moves of the State
	since   time.Duration
	random  uint64
	due     time.Duration
}

// once draws a run. If it does not arrive, the time is never where it is not known whether it would.
func (r *run) once() (end time.Duration, arrived bool) {
	clear(r.pending)
	id, now := r.from, time.Duration(0)
	for range patience {
		switch {
		case r.ends[id]:
			return now, true
		case r.graph.States[id].Unexplored || now > eternity:
			return never, false
		case !r.lives[id]:
			return now, false
		}
		m := r.next(id, now)
		now = r.pending[m.actor].due
		if r.race {
			r.keep(id, m)
		} else {
			r.pending[m.actor].entered = false
		}
		id = m.to
	}
	return never, false
}

// next enters the Stages of a State, as far as that was not done before, and returns the move that is due first.
func (r *run) next(id int, now time.Duration) *move {
	moves, first := r.moves[id], notChosen
	for i := 0; i < len(moves); {
		end := i + 1
		for end < len(moves) && moves[end].actor == moves[i].actor {
			end++
		}
		p := &r.pending[moves[i].actor]
		if !p.entered {
			r.enter(p, moves[i:end], now)
			p.move += i
		}
		if first == notChosen || p.due < r.pending[moves[first].actor].due {
			first = p.move
		}
		i = end
	}
	return &moves[first]
}

// enter draws a Stage of an object, and its delay.
func (r *run) enter(p *pending, moves []move, now time.Duration) {
	chosen := 0
	if len(moves) > 1 {
		ticket := r.random.Float64()
		for chosen < len(moves)-1 && ticket >= moves[chosen].chance {
			ticket -= moves[chosen].chance
			chosen++
		}
	}
	*p = pending{entered: true, move: chosen, since: now, random: r.random.Uint64()}
	p.due = moves[chosen].due(p)
}

func (m *move) due(p *pending) time.Duration {
	return p.since + max(delay.Range{Given: true, Min: m.min, Max: m.max}.Pick(p.random), 0)
}

// keep carries over what was drawn for the other objects, as long as the next State still has it.
func (r *run) keep(id int, played *move) {
	now, next := r.pending[played.actor].due, r.moves[played.to]
	for actor := range r.pending {
		p := &r.pending[actor]
		if !p.entered {
			continue
		}
		was := r.moves[id][p.move]
		at := slices.IndexFunc(next, func(m move) bool { return m.actor == actor && m.stage == was.stage })
		if p.entered = actor != played.actor && at >= 0; p.entered {
			p.move, p.due = at, max(next[at].due(p), now)
		}
	}
}
