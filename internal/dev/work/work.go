// Package work measures what a call does, and searches for calls that do much for what they are
// charged. It is for the tests of jq, CEL and templates, whose evaluations charge their work to a
// budget.
//
// # Determinism
//
// The allocated bytes are the same on every machine. The time is the processor time of the thread;
// it differs from run to run, so that tests bound it loosely, and [Search] uses it as a guide only.
package work

import (
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// Spent is the work of a call.
type Spent struct {
	Bytes uint64        // allocated
	Time  time.Duration // of the processor
}

// Measure calls f a number of times and returns the least work of a call.
func Measure(times int, f func()) Spent {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	least := Spent{Bytes: 1 << 62, Time: time.Hour}
	for range times {
		bytes, start := allocated(), processorTime()
		f()
		took := processorTime() - start
		least = Spent{min(least.Bytes, allocated()-bytes), min(least.Time, took)}
	}
	return least
}

// allocated is what the program has allocated, to the byte.
func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}

// processorTime is the processor time of this thread, which other programs do not change.
func processorTime() time.Duration {
	const thisThread = 3 // CLOCK_THREAD_CPUTIME_ID of Linux
	var t syscall.Timespec
	_, _, _ = syscall.Syscall(syscall.SYS_CLOCK_GETTIME, thisThread, uintptr(unsafe.Pointer(&t)), 0)
	return time.Duration(t.Nano())
}
