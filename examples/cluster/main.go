// Cluster plays the presets on a real Kubernetes cluster: it simulates Nodes, and Pods on them that
// run, complete and are deleted as on real Nodes.
//
//	go run .                     starts a control plane on loopback; its programs are built first, once
//	go run . -kubeconfig FILE    uses your cluster, and changes only what it has created
//	go run . -nodes 5
//
// play.go shows how to embed stagecraft in a program that uses a cluster. demo.go does with kubectl what a user
// would do. The commands stagecraft play, serve and record play on a cluster, serve one in memory, and record one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are the flags.
type options struct {
	kubeconfig string
	nodes      int
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
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if err = o.check(flags.Args()); err != nil {
		fmt.Fprintln(stderr, err)
	}
	return o, err
}

// check refuses faulty flags.
func (o options) check(args []string) error {
	if o.nodes < 1 || len(args) > 0 {
		return fmt.Errorf("want at least one node and no arguments; got -nodes %d %q", o.nodes, args)
	}
	return nil
}

// show connects to a cluster, or starts one, and runs the demo there.
func show(ctx context.Context, o options, stdout, stderr io.Writer) error {
	p, err := connect(o.kubeconfig, stderr)
	if err != nil {
		return err
	}
	d, err := newDemo(p, o.nodes, stdout)
	if err == nil {
		err = d.run(ctx)
	}
	return errors.Join(err, p.stop())
}
