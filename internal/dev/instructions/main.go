// Command instructions counts the machine instructions of fixed workloads and compares them with
// recorded counts, so that a regression is visible on a machine whose timings are noisy.
//
//	go run ./internal/dev/instructions            # compare; exits with 1 if a workload takes over 5 % more than recorded
//	go run ./internal/dev/instructions -update    # record
//	go run ./internal/dev/instructions -run next  # one workload, also the only one recorded with -update
//
// It runs itself under valgrind's callgrind, which must be installed. If it is not, or if anything
// else fails, the command exits with 2.
//
// # Determinism
//
// A workload runs on one thread, without garbage collection and preemption, a few times and then
// many times. Only the difference counts, so that start and compilation cancel out. Only the seeds
// of maps are random; counts agree within 1 % from run to run. They depend on the version of Go, on
// the architecture and on the features of the processor, by which the runtime chooses its routines.
// Counts of another version or architecture than recorded are printed but never fail.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
)

// options are the flags of the command line.
type options struct {
	file     string
	run      string
	update   bool
	workload string // in the child process: the workload to run
	times    int    // and how often
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main without global state. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	regressed, err := o.do(ctx, stdout)
	if err != nil {
		fmt.Fprintln(stderr, "instructions:", err)
		return 2
	}
	if len(regressed) > 0 {
		fmt.Fprintf(stderr, "instructions: over %.0f %% more than recorded: %s\n", 100*(regressionLimit-1), strings.Join(regressed, ", "))
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("instructions", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.file, "file", "internal/dev/instructions/recorded.json", "what was recorded")
	flags.StringVar(&o.run, "run", "", "count the workloads whose name contains this")
	flags.BoolVar(&o.update, "update", false, "record what is counted")
	flags.StringVar(&o.workload, "play", "", "run a workload and count nothing; this runs under valgrind")
	flags.IntVar(&o.times, "times", 1, "how often to run it")
	return o, flags.Parse(args)
}

// do runs a workload, or records or compares counts. It returns the workloads that regressed.
func (o options) do(ctx context.Context, stdout io.Writer) ([]string, error) {
	if o.workload != "" {
		return nil, runWorkload(ctx, o.workload, o.times)
	}
	recorded, err := readRecord(o.file)
	if err != nil && !(o.update && errors.Is(err, os.ErrNotExist)) {
		return nil, err
	}
	now, err := count(ctx, o.run)
	if err != nil {
		return nil, err
	}
	regressed := report(stdout, recorded, now)
	if o.update {
		return nil, recorded.merged(now).write(o.file)
	}
	return regressed, nil
}
