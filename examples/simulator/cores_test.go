package main

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var cores = flag.Bool("cores", false, "measure what a second core gives a sweep; the machine must have two that nobody else uses")

// TestMain plays the program itself if a test asks for it.
func TestMain(m *testing.M) {
	if flags := os.Getenv("SIMULATOR_FLAGS"); flags != "" {
		os.Exit(run(context.Background(), strings.Fields(flags), os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// TestTwoCores runs a sweep on one core and on two, five times, one after the other: two are at
// least 1.6 times as fast.
func TestTwoCores(t *testing.T) {
	if !*cores {
		t.Skip("a matter of timing: make cores")
	}
	var ratios []float64
	for range 5 {
		one, cpu1 := sweepOn(t, "1")
		two, cpu2 := sweepOn(t, "2")
		ratios = append(ratios, one.Seconds()/two.Seconds())
		t.Logf("one core %.2f s (%.2f s of CPU), two %.2f s (%.2f s of CPU): %.2f times as fast", one.Seconds(), cpu1.Seconds(), two.Seconds(), cpu2.Seconds(), ratios[len(ratios)-1])
	}
	slices.Sort(ratios)
	t.Logf("median %.2f", ratios[2])
	require.GreaterOrEqual(t, ratios[2], 1.6)
}

// sweepOn returns how long a sweep of 300 runs takes on some cores, and how much CPU time.
func sweepOn(t *testing.T, cores string) (took, cpu time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GOMAXPROCS="+cores, "SIMULATOR_FLAGS=-study queues -seeds 30")
	began := time.Now()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return time.Since(began), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}
