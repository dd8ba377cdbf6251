package simulation

import (
	"context"
	"fmt"
	"time"
)

// followEvery is how often [Simulation.Follow] looks for what is due: what a client writes has its
// consequences by then.
const followEvery = 5 * time.Millisecond

// Follow lets virtual time pass with the time of the machine, speed times as fast, until ctx is
// done: 1 is real time, with 60 an hour takes a minute. It is for programs that use the cluster from
// outside, such as clients of package apiserver; the cluster may be used from other goroutines
// meanwhile, the simulation may not. If more is due than the machine can do in the time, virtual
// time is late and catches up later.
//
// The error is that of Advance; that ctx is done is none.
func (s *Simulation) Follow(ctx context.Context, speed float64) error {
	if !(speed > 0) {
		return fmt.Errorf("simulation: time cannot pass %v times as fast", speed)
	}
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	from, start := s.now, time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		passed := time.Duration(float64(time.Since(start)) * speed)
		if err := s.Advance(ctx, max(0, from.Add(passed).Sub(s.now))); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
}
