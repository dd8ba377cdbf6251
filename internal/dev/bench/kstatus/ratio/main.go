// Command ratio times both sides alternately in one process and prints how many times faster
// stagecraft is.
//
//	go run ./kstatus/ratio [-rounds 40] [-round 20ms] [-sample Deployment]
//
// It measures CPU time, garbage collection included, because elapsed time says little on a busy
// machine. The rounds of the sides alternate, so that a machine that slows down affects both. The
// fastest round of each side counts.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	bench "github.com/stagecraft-go/stagecraft/internal/dev/bench/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus"
)

// A side is one implementation that is timed.
type side func(*unstructured.Unstructured, time.Time)

var sink any

// sides are cli-utils, package kstatus, its extended profile, and only the map look-ups that every
// correct implementation needs.
func sides(lookups []bench.Lookup) []side {
	return []side{
		func(obj *unstructured.Unstructured, _ time.Time) { _, _ = status.Compute(obj) },
		func(obj *unstructured.Unstructured, now time.Time) { kstatus.Standard().Compute(obj, now) },
		func(obj *unstructured.Unstructured, now time.Time) { kstatus.Extended().Compute(obj, now) },
		func(*unstructured.Unstructured, time.Time) {
			for i := range lookups {
				sink = lookups[i].In[lookups[i].Key]
			}
		},
	}
}

func main() {
	rounds := flag.Int("rounds", 40, "how often each side is timed")
	round := flag.Duration("round", 20*time.Millisecond, "how long, about")
	sample := flag.String("sample", "", "time only samples with this in their names")
	flag.Parse()
	if err := run(*rounds, *round, *sample); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(rounds int, round time.Duration, sample string) error {
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "object\tpeer ns/op\tours ns/op\tratio\tpeer allocs\tours allocs\textended ns/op\textended/ours\textended allocs\tlook-ups\tfloor ns/op\tpeer/floor\t")
	for _, s := range bench.Samples {
		if !strings.Contains(s.Name, sample) {
			continue
		}
		obj, err := s.Object()
		if err != nil {
			return err
		}
		lookups := s.Lookups(obj)
		var all []*timing
		for _, side := range sides(lookups) {
			all = append(all, prepare(obj, side, round))
		}
		for range rounds {
			for _, t := range all {
				t.again()
			}
		}
		peer, ours, extended, floor := all[0], all[1], all[2], all[3]
		fmt.Fprintf(out, "%s\t%.0f\t%.0f\t%.1f\t%.0f\t%.0f\t%.0f\t%.1f\t%.0f\t%d\t%.0f\t%.1f\t\n", s.Name, peer.best, ours.best, peer.best/ours.best,
			peer.allocs, ours.allocs, extended.best, extended.best/ours.best, extended.allocs, len(lookups), floor.best, peer.best/floor.best)
	}
	return out.Flush()
}

// A timing is the measurements of a side on an object.
type timing struct {
	play   func()
	times  int     // in a round
	best   float64 // nanoseconds of one play
	allocs float64
}

func prepare(obj *unstructured.Unstructured, do side, round time.Duration) *timing {
	now := time.Now()
	t := &timing{play: func() { do(obj, now) }, times: 1}
	for t.again() < round {
		t.times *= 2
	}
	t.best = 0 // a run too short to leave garbage does not count
	t.allocs = testing.AllocsPerRun(100, t.play)
	return t
}

// again runs a round and returns how long it took.
func (t *timing) again() time.Duration {
	begin := processor()
	for range t.times {
		t.play()
	}
	took := processor() - begin
	if each := float64(took) / float64(t.times); t.best == 0 || each < t.best {
		t.best = each
	}
	return took
}

// processor is the CPU time of all threads of this process.
func processor() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		panic(err) // without this clock there is no measurement
	}
	return time.Duration(t.Nano())
}
