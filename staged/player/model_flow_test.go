package player_test

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// A stretch is a piece of a rollout in which everything happens at once: the links of the chains of all
// clusters in any order, with players deciding in between. Most faults of evidence need exactly that: a
// report of before that comes after a confirmation, or a decision between the two.
type stretch struct {
	h    *history
	r    *rand.Rand
	slow int // the link that lags behind in this stretch; -1: none
	lazy int // the player that sees only some kinds; -1: none
	pace time.Duration
}

// flow plays some rounds of a stretch.
func (h *history) flow(r *rand.Rand, rounds int) {
	s := stretch{h: h, r: r, slow: r.IntN(2*len(h.links())) - len(h.links()), lazy: r.IntN(2*len(h.actors)) - len(h.actors),
		pace: []time.Duration{300 * time.Millisecond, time.Second, 8 * time.Second}[r.IntN(3)]}
	for range rounds {
		s.round()
	}
}

// round lets most links of most clusters happen once, in any order.
func (s stretch) round() {
	names, links := sortedNames(s.h.members), s.h.links()
	for _, n := range s.r.Perm(len(names) * len(links)) {
		i, m := n%len(links), s.h.members[names[n/len(links)]]
		chance := 7
		if i == s.slow {
			chance = 1
		}
		if s.h.fault != "" || s.r.IntN(10) >= chance {
			continue
		}
		if s.h.together {
			s.h.chain(1 << (n / len(links)))
		} else {
			s.h.link(links[i], m, s.r.Uint32()|s.r.Uint32())
		}
		s.between(m)
	}
	s.h.steps++
	s.turn()
	s.h.now = s.h.now.Add(time.Duration(s.r.Int64N(int64(2 * s.pace))))
	if s.r.IntN(3) == 0 {
		s.h.steps++
		s.h.approve(action{kind: "approve"})
	}
}

// between is what happens between two links.
func (s stretch) between(m *member) {
	switch s.r.IntN(40) {
	case 0, 1, 2, 3:
		s.turn()
	case 4, 5, 6:
		m.beat++ // something in the status changes that no generation and no condition tells
	case 7:
		s.h.now = s.h.now.Add(time.Second)
	case 8:
		if s.r.IntN(3) == 0 {
			s.h.autoscale(m)
		}
	}
}

func (s stretch) turn() {
	n := s.r.IntN(len(s.h.actors))
	mask := ^uint32(0)
	if n == s.lazy {
		mask = s.r.Uint32()
	}
	s.h.turn(s.h.actors[n], mask)
}

// link lets one link happen, and notes it if it changes something.
func (h *history) link(l link, m *member, n uint32) {
	before := h.print(m)
	if l.do(h, m, n); h.verbose && before != h.print(m) {
		h.note("%s of %s", l.name, m.name)
	}
}

// print is what a link can change, as text.
func (h *history) print(m *member) (text string) {
	if !h.verbose {
		return ""
	}
	for _, name := range sortedNames(m.objects) {
		text += fmt.Sprintf("%+v", *m.objects[name])
	}
	for _, name := range sortedNames(m.read) {
		text += fmt.Sprintf("%+v", m.read[name])
	}
	return text + fmt.Sprint(h.hub.version, h.space.version, m.applied)
}
