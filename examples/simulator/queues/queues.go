// Package queues simulates queues whose mean waiting times are known from theory, and checks
// Little's law in each run. So it checks the arrivals, sizes, clock and intervals of this
// simulator.
//
// # Models
//
// Customers arrive at random times (exponential gaps) at a station with one or more servers. Each
// server serves one customer at a time. The mean service time is 1 s.
//
//	M/M/1       exponential service times          ρ/(1-ρ)
//	M/M/c       c servers                          C(c, cρ)/(c(1-ρ)), C is the formula of Erlang
//	M/G/1       other service times S              λE[S²]/(2(1-ρ)), Pollaczek and Khinchine
//	priorities  M/M/1 whose first class goes       λE[S²]/2/((1-σ₀)(1-σ₁)), Cobham; σ is the load
//	            first, without interrupting        of the classes before, and with the class itself
//
// # Little's law
//
// From the first arrival until the station is empty, the sum of the times that customers spend in
// it is the integral of their number. A [Station] keeps both, in nanoseconds, and they are equal.
package queues

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/lab/load"
)

// A Station has servers, and a queue for each class of customers. It serves the first class first
// and, within a class, the customer that came first. It must not be used from several goroutines at
// once.
type Station struct {
	clock  load.Clock
	free   int
	queues [][]customer
	inside int
	// the values that Little's law compares
	changed       time.Time     // when inside changed last
	area, sojourn time.Duration // ∫ inside dt, and the time that all customers spent inside

	waits [][]time.Duration // by class, in the order in which service began
}

type customer struct {
	class   int
	arrived time.Time
	size    time.Duration
}

// NewStation returns an empty station.
func NewStation(clock load.Clock, servers, classes int) *Station {
	return &Station{clock: clock, free: servers, queues: make([][]customer, classes), waits: make([][]time.Duration, classes), changed: clock.Now()}
}

// Arrive adds a customer that needs some service. Class 0 goes first.
func (s *Station) Arrive(class int, size time.Duration) {
	s.count(1)
	s.queues[class] = append(s.queues[class], customer{class, s.clock.Now(), size})
	s.serve()
}

// serve begins to serve customers while servers are free.
func (s *Station) serve() {
	for s.free > 0 {
		class := slices.IndexFunc(s.queues, func(q []customer) bool { return len(q) > 0 })
		if class < 0 {
			return
		}
		c, now := s.queues[class][0], s.clock.Now()
		s.queues[class] = s.queues[class][1:]
		s.waits[class] = append(s.waits[class], now.Sub(c.arrived))
		s.free--
		s.clock.At(now.Add(c.size), func(context.Context) error {
			s.leave(c)
			return nil
		})
	}
}

func (s *Station) leave(c customer) {
	s.count(-1)
	s.sojourn += s.clock.Now().Sub(c.arrived)
	s.free++
	s.serve()
}

// count changes the number of customers.
func (s *Station) count(by int) {
	now := s.clock.Now()
	s.area += time.Duration(s.inside) * now.Sub(s.changed)
	s.inside, s.changed = s.inside+by, now
}

// CheckLittle returns an error if the station is not empty or Little's law does not hold.
func (s *Station) CheckLittle() error {
	if s.inside != 0 || s.area != s.sojourn {
		return fmt.Errorf("queues: %d customers are left; the integral of their number is %s, and they spent %s: Little's law does not hold", s.inside, s.area, s.sojourn)
	}
	return nil
}

// MeanWait returns the mean waiting time in seconds of the customers of a class, except for its
// first customers (warm-up).
func (s *Station) MeanWait(class, but int) float64 {
	total, waits := 0.0, s.waits[class][min(but, len(s.waits[class])):]
	for _, w := range waits {
		total += w.Seconds()
	}
	return total / float64(len(waits))
}

// A Model is a queue with a known answer.
type Model struct {
	Name    string
	Servers int               // default 1
	Service load.Distribution // of mean 1; default exponential
	Second  float64           // E[S²] of Service; default 2, as for the exponential distribution
	Classes int               // default 1; customers are of each with the same probability
}

// Models are the models of the study.
func Models() []Model {
	return []Model{
		{Name: "M/M/1"},
		{Name: "M/M/4", Servers: 4},
		{Name: "M/D/1", Service: load.Fixed(1), Second: 1},
		{Name: "M/U/1", Service: load.Uniform{Low: 0, High: 2}, Second: 4.0 / 3},
		{Name: "priorities", Classes: 2},
	}
}

// Named returns a model of [Models].
func Named(name string) (Model, bool) {
	i := slices.IndexFunc(Models(), func(m Model) bool { return m.Name == name })
	if i < 0 {
		return Model{}, false
	}
	return Models()[i], true
}

// Wait returns the mean waiting time of a class in seconds that theory has for a load: the share of
// the time that a server is busy.
func (m Model) Wait(load float64, class int) float64 {
	if servers := cmp.Or(m.Servers, 1); servers > 1 {
		return erlangC(servers, load) / (float64(servers) * (1 - load))
	}
	residual := load * cmp.Or(m.Second, 2) / 2
	before := load * float64(class) / float64(m.classes())
	with := load * float64(class+1) / float64(m.classes())
	return residual / ((1 - before) * (1 - with))
}

func (m Model) classes() int { return cmp.Or(m.Classes, 1) }

// erlangC is the probability that all servers are busy, by the recursion of Erlang's formula B.
func erlangC(servers int, load float64) float64 {
	offered, blocked := load*float64(servers), 1.0
	for n := 1; n <= servers; n++ {
		blocked = offered * blocked / (float64(n) + offered*blocked)
	}
	return blocked / (1 - load*(1-blocked))
}
