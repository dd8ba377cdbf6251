// Command ratio times both sides alternately in one process and prints how many times faster
// stagecraft is.
//
//	go run ./ratio [-rounds 5] [-corpus ../../../../shared/conformance]
//
// The rounds of the sides alternate, so that a machine that slows down affects both. The fastest
// round of each side counts.
package main

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"text/tabwriter"

	"github.com/stagecraft-go/stagecraft/internal/dev/bench"
)

func main() {
	corpus := flag.String("corpus", "../../../../shared/conformance", "directory of the conformance corpus")
	rounds := flag.Int("rounds", 5, "how often each side is timed")
	testing.Init()
	flag.Parse()
	if err := run(*corpus, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(corpus string, rounds int) error {
	scenarios, err := bench.Scenarios(corpus)
	if err != nil {
		return err
	}
	if err := flag.Set("test.benchtime", "200ms"); err != nil {
		return err
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "work\tcase\tpeer\tkwok ns/op\tours ns/op\tratio\tkwok allocs\tours allocs\t")
	for _, s := range scenarios {
		report(out, "match", s, rounds, func(p bench.Side) func() (int, error) { return p.Match })
		report(out, "whole", s, rounds, func(p bench.Side) func() (int, error) { return p.Whole })
	}
	return out.Flush()
}

// report times all sides of a scenario. The first side is stagecraft.
func report(out *tabwriter.Writer, work string, s bench.Scenario, rounds int, of func(bench.Side) func() (int, error)) {
	best := make([]testing.BenchmarkResult, len(s.Sides))
	for range rounds {
		for i, p := range s.Sides {
			if r := measure(of(p)); best[i].N == 0 || perOp(r) < perOp(best[i]) {
				best[i] = r
			}
		}
	}
	for i, p := range s.Sides[1:] {
		kwok, ours := best[i+1], best[0]
		fmt.Fprintf(out, "%s\t%s\t%s\t%.0f\t%.0f\t%.1f\t%d\t%d\t\n", work, s.Name, p.Name,
			perOp(kwok), perOp(ours), perOp(kwok)/perOp(ours), kwok.AllocsPerOp(), ours.AllocsPerOp())
	}
}

func measure(play func() (int, error)) testing.BenchmarkResult {
	return testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := play(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func perOp(r testing.BenchmarkResult) float64 { return float64(r.T.Nanoseconds()) / float64(r.N) }
