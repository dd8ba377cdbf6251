// Command ratio times both sides beside each other in one process and prints how many times faster stagecraft is.
//
//	go run ./ratio [-rounds 40]
//
// The rounds of the sides alternate and are short, so that a machine that slows down slows both, and each side finds quiet moments; its
// fastest round counts.
package main

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	bench "github.com/stagecraft-go/stagecraft/internal/bench/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus"
)

// A side is one of what is compared.
type side func(*unstructured.Unstructured, time.Time)

var sink any

// sides are the peer, ours, ours extended, and the look-ups without which there is no verdict.
func sides(lookups []bench.Lookup) []side {
	return []side{
		func(obj *unstructured.Unstructured, _ time.Time) { _, _ = status.Compute(obj) },
		func(obj *unstructured.Unstructured, now time.Time) { kstatus.ComputeAt(obj, now) },
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
	testing.Init()
	flag.Parse()
	if err := run(*rounds); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(rounds int) error {
	if err := flag.Set("test.benchtime", "20ms"); err != nil {
		return err
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "object\tpeer ns/op\tours ns/op\tratio\tpeer allocs\tours allocs\textended ns/op\textended/ours\textended allocs\tlook-ups\tfloor ns/op\t")
	for _, s := range bench.Samples {
		obj, err := s.Object()
		if err != nil {
			return err
		}
		report(out, s, obj, rounds)
	}
	return out.Flush()
}

func report(out *tabwriter.Writer, s bench.Sample, obj *unstructured.Unstructured, rounds int) {
	lookups := s.Lookups(obj)
	sides := sides(lookups)
	best := make([]testing.BenchmarkResult, len(sides))
	for range rounds {
		for i, side := range sides {
			if r := measure(obj, side); best[i].N == 0 || perOp(r) < perOp(best[i]) {
				best[i] = r
			}
		}
	}
	peer, ours, extended, floor := best[0], best[1], best[2], best[3]
	fmt.Fprintf(out, "%s\t%.0f\t%.0f\t%.1f\t%d\t%d\t%.0f\t%.1f\t%d\t%d\t%.0f\t\n", s.Name, perOp(peer), perOp(ours), perOp(peer)/perOp(ours),
		peer.AllocsPerOp(), ours.AllocsPerOp(), perOp(extended), perOp(extended)/perOp(ours), extended.AllocsPerOp(), len(lookups), perOp(floor))
}

func measure(obj *unstructured.Unstructured, side side) testing.BenchmarkResult {
	now := time.Now()
	return testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			side(obj, now)
		}
	})
}

func perOp(r testing.BenchmarkResult) float64 { return float64(r.T.Nanoseconds()) / float64(r.N) }
