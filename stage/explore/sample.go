package explore

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/stagecraft-go/stagecraft/delay"
)

const (
	z99       = 2.576   // half the width, in standard deviations, of the interval that holds 99% of a normal distribution
	maxSteps  = 100_000 // transitions after which a run counts as unknown
	pcgStream = 0x9e3779b97f4a7c15
	notChosen = -1
)

func sqrt(x float64) float64 { return math.Sqrt(max(x, 0)) }

// sample estimates the times by random runs.
func (w *timing) sample(t *Times, samples int, seed uint64) {
	r := sampleRun{timing: w, random: rand.New(rand.NewPCG(seed, pcgStream)), pending: make([]pendingStage, w.objects)}
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
	if w.concurrent {
		t.Min, t.Max = t.points[0], t.points[n-1]
	}
}

// A sampleRun simulates one run after another.
type sampleRun struct {
	*timing
	random  *rand.Rand
	pending []pendingStage // by object
}

// A pendingStage is the draw for an object at its entry into a Stage.
type pendingStage struct {
	entered bool // whether the object is in a Stage
	move    int  // index into the moves of the State
	since   time.Duration
	random  uint64
	due     time.Duration
}

// once simulates one run. If the run does not arrive, the time is never if it is not known whether
// the run would have arrived.
func (r *sampleRun) once() (end time.Duration, arrived bool) {
	clear(r.pending)
	id, now := r.from, time.Duration(0)
	for range maxSteps {
		switch {
		case r.isTarget[id]:
			return now, true
		case r.graph.States[id].Unexplored || now > maxTime:
			return never, false
		case !r.reachesTarget[id]:
			return now, false
		}
		m := r.next(id, now)
		now = r.pending[m.object].due
		if r.concurrent {
			r.keepPending(id, m)
		} else {
			r.pending[m.object].entered = false
		}
		id = m.to
	}
	return never, false
}

// next draws a Stage for each object that is not in one yet, and returns the move that is due
// first.
func (r *sampleRun) next(id int, now time.Duration) *move {
	moves, first := r.moves[id], notChosen
	for i := 0; i < len(moves); {
		end := i + 1
		for end < len(moves) && moves[end].object == moves[i].object {
			end++
		}
		p := &r.pending[moves[i].object]
		if !p.entered {
			r.enter(p, moves[i:end], now)
			p.move += i
		}
		if first == notChosen || p.due < r.pending[moves[first].object].due {
			first = p.move
		}
		i = end
	}
	return &moves[first]
}

// enter draws a Stage of an object, and its delay.
func (r *sampleRun) enter(p *pendingStage, moves []move, now time.Duration) {
	chosen := 0
	if len(moves) > 1 {
		draw := r.random.Float64()
		for chosen < len(moves)-1 && draw >= moves[chosen].chance {
			draw -= moves[chosen].chance
			chosen++
		}
	}
	*p = pendingStage{entered: true, move: chosen, since: now, random: r.random.Uint64()}
	p.due = moves[chosen].due(p)
}

func (m *move) due(p *pendingStage) time.Duration {
	if m.isDrawn() {
		return p.since + min(max(m.delay.Pick(p.random), 0), maxTime)
	}
	return p.since + max(delay.Range{Given: true, Min: m.min, Max: m.max}.Pick(p.random), 0)
}

// keepPending keeps the draws of the other objects if the next State still has their Stages.
func (r *sampleRun) keepPending(id int, played *move) {
	now, next := r.pending[played.object].due, r.moves[played.to]
	for actor := range r.pending {
		p := &r.pending[actor]
		if !p.entered {
			continue
		}
		was := r.moves[id][p.move]
		at := slices.IndexFunc(next, func(m move) bool { return m.object == actor && m.stage == was.stage })
		if p.entered = actor != played.object && at >= 0; p.entered {
			p.move, p.due = at, max(next[at].due(p), now)
		}
	}
}
