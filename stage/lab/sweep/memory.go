package sweep

import (
	"context"
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// watchMemory stops a sweep when the process uses more than some bytes. The channel is closed when
// it has ended.
func watchMemory(ctx context.Context, stop context.CancelCauseFunc, limit uint64) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		look := time.NewTicker(100 * time.Millisecond)
		defer look.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-look.C:
				if err := checkMemory(limit); err != nil {
					stop(err)
				}
			}
		}
	}()
	return done
}

// checkMemory returns an error if the process uses more than some bytes, garbage not counted.
func checkMemory(limit uint64) error {
	if inUse() <= limit {
		return nil
	}
	debug.FreeOSMemory()
	if used := inUse(); used > limit {
		return fmt.Errorf("the process uses %d MiB of memory, and its workers may use %d MiB: run fewer or smaller ones", used>>20, limit>>20)
	}
	return nil
}

// inUse is the memory that the process has from the operating system.
func inUse() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}
