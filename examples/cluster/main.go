// Cluster plays the presets on a real Kubernetes cluster: it simulates Nodes, and Pods on them that
// run, complete and are deleted as on real Nodes.
//
//	go run .                     starts a control plane on loopback; its programs are built first, once
//	go run . -kubeconfig FILE    uses your cluster, and changes only what it has created
//	go run . -nodes 5
//	go run . -memory             serves a cluster in memory until Ctrl-C, and prints export KUBECONFIG=…; no program is built or started
//	go run . -memory -speed 60   the same; in a minute an hour passes there
//	go run . -record LOG         records what the demo does, for package stage/lab/fit
//	go run . -kubeconfig FILE -record LOG
//	                             records what happens on your cluster until Ctrl-C, and changes nothing
//
// memory.go shows how to serve a cluster in memory, record.go how to record a cluster, play.go how to embed stagecraft in a program that uses a cluster. demo.go does with kubectl
// what a user would do.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200) // an API server in memory answers with a fifth less CPU
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are the flags.
type options struct {
	kubeconfig string
	nodes      int
	record     string
	memory     bool
	speed      float64
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
	if err := show(ctx, o, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "`file` of the cluster to use; none: start one")
	flags.IntVar(&o.nodes, "nodes", 3, "how many Nodes")
	flags.StringVar(&o.record, "record", "", "new `file` for a log of what happens; with -kubeconfig, nothing else is done")
	flags.BoolVar(&o.memory, "memory", false, "serve a cluster in memory")
	flags.Float64Var(&o.speed, "speed", 1, "with -memory: how many times as fast as that of the machine its time passes")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if err = o.check(flags.Args()); err != nil {
		fmt.Fprintln(stderr, err)
	}
	return o, err
}

// check refuses flags that cannot be combined.
func (o options) check(args []string) error {
	switch {
	case o.nodes < 1 || len(args) > 0:
		return fmt.Errorf("want at least one node and no arguments; got -nodes %d %q", o.nodes, args)
	case o.memory && (o.kubeconfig != "" || o.record != ""):
		return errors.New("-memory serves a cluster of its own: it takes no -kubeconfig and no -record")
	case o.speed != 1 && !o.memory, !(o.speed > 0):
		return fmt.Errorf("-speed %v: want more than 0, with -memory", o.speed)
	}
	return nil
}

// show connects to a cluster, or starts one, and runs the demo there.
func show(ctx context.Context, o options, stdout, stderr io.Writer) error {
	if o.memory {
		return serveMemory(ctx, o, stdout)
	}
	if o.kubeconfig != "" && o.record != "" {
		return recordCluster(ctx, o, stderr)
	}
	p, err := connect(o.kubeconfig, stderr)
	if err != nil {
		return err
	}
	d, err := newDemo(p, o.nodes, stdout)
	if err == nil {
		err = d.recordTo(o.record)
	}
	if err == nil {
		err = d.run(ctx)
	}
	return errors.Join(err, p.stop())
}
