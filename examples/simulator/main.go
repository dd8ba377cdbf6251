// Simulator repeats the experiments of the KWOK/MCAD study in virtual time, in seconds instead of
// hours, and writes tables and charts of the results.
//
//	go run . -study small-jobs
//	go run . -study gpu -report gpu.html -plots plots -log gpu.jsonl
//	go run . -study kueue
//	go run . -study queues -seeds 100 -results queues.jsonl
//	go run . -study scale -pods 100000 -nodes 1000
//
// lab.go builds a cluster; smalljobs.go, gpu.go and scale.go are the experiments. Package mcad is
// the queue and the gang scheduler of the study, package report writes the page.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/stagecraft-go/stagecraft/examples/simulator/report"
	"github.com/stagecraft-go/stagecraft/stage/lab/progress"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
)

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
	if err := study(ctx, o, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "simulator:", err)
		return 1
	}
	return 0
}

// study runs a study and writes what the flags ask for. The running time depends on the machine, so
// it is not part of the report.
func study(ctx context.Context, o options, stdout, stderr io.Writer) error {
	c := &studyClock{began: time.Now(), progress: progress.New(stderr)}
	r, err := studies[o.study].run(ctx, o, c)
	if err != nil {
		return err
	}
	if err := r.WriteText(stdout); err != nil {
		return err
	}
	fmt.Fprintln(stdout, "\n"+c.String())
	return writeReport(r, o)
}

func writeReport(r *report.Report, o options) error {
	if o.report != "" {
		if err := record.WriteFile(o.report, r.WriteHTML); err != nil {
			return err
		}
	}
	if o.plots != "" {
		return r.WritePlots(o.plots)
	}
	return nil
}
