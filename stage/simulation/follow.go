package simulation

import (
	"context"
	"fmt"
	"time"
)

// followEvery is the period at which [Simulation.Follow] looks for due work. It is the longest
// delay until the consequences of a client's write.
const followEvery = 5 * time.Millisecond

// Follow makes virtual time follow the clock of the machine until ctx is done, speed times as fast:
// 1 is real time, and with 60 an hour takes a minute. It is for programs that use the cluster from
// outside, such as clients of package apiserver. Meanwhile other goroutines may use the cluster,
// but must not use the simulation. If more work is due than the machine can do in time, virtual
// time is late and catches up later.
//
// The error is the error of Advance. The end of ctx is not an error.
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
