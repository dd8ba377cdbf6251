// Quickstart simulates the Job lifecycle of the KWOK/MCAD study in virtual time: a Job, its Pod on
// a fake Node, and the table that kubectl get pods --output-watch-events --watch would print.
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart -seed 2 -jobs 3 -speed 10
//	go run ./examples/quickstart -stages my-stages.yaml
//
// This file shows how to embed stagecraft. The other files are the rest of a cluster: scheduler.go
// and jobs.go are controllers, cluster.go is the loop that calls them, and table.go prints the
// table of kubectl.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

var (
	//go:embed stages.yaml
	stagesYAML []byte
	//go:embed node.yaml
	nodeYAML []byte
	//go:embed job.yaml
	jobYAML string
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
	err = play(ctx, o, stdout, stderr)
	if err != nil && !errors.Is(err, context.Canceled) { // an interrupt is a way to end
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// play runs the simulation to its end.
func play(ctx context.Context, o options, stdout, stderr io.Writer) error {
	c, err := newCluster(o, stdout, stderr)
	if err != nil {
		return err
	}
	if err := c.Load(ctx, nodeYAML); err != nil {
		return err
	}
	return c.run(ctx, o)
}

// newCluster builds the cluster. It compiles the Stage files to a Set; the error contains all of
// their faults with their positions. Then a Simulation plays the Set on a cluster in memory. The
// controllers, and the table that is printed, react to the same cluster.
func newCluster(o options, stdout, stderr io.Writer) (*cluster, error) {
	set, err := compile(o)
	if err != nil {
		return nil, err
	}
	sim, err := simulation.New(set, simulation.Options{Seed: o.seed, Kinds: kinds(set), Trace: failures(stderr)})
	if err != nil {
		return nil, err
	}
	c := &cluster{Cluster: sim.Cluster(), sim: sim}
	t := &table{out: stdout, now: sim.Now}
	c.reactions = map[schema.GroupVersionKind][]reaction{
		nodeKind: {c.watchNode, c.submit(o.jobs)},
		jobKind:  {c.startJob, c.expireJob},
		podKind:  {t.print, c.schedule, c.trackPod},
	}
	return c, c.watch(nodeKind, jobKind, podKind)
}

// compile compiles the Stages at o.stages, and our own for Nodes and Pods if it has none for them.
func compile(o options) (*stage.Set, error) {
	var sources []stage.Source
	if o.stages != "" {
		users, err := stage.Load(o.stages)
		if err != nil {
			return nil, err
		}
		sources = append(sources, users)
	}
	for _, ours := range []stage.Source{presets.NodeFast(), stage.Parse("stages.yaml", stagesYAML)} {
		if o.stages == "" || !overlap(sources[0], ours) {
			sources = append(sources, ours)
		}
	}
	return stage.Compile(stage.Options{Extensions: o.extensions}, sources...)
}

// overlap reports whether a has Stages for the kind of object that b is for.
func overlap(a, b stage.Source) bool {
	kind := b.Stages()[0].Spec.ResourceRef.Kind
	for _, s := range a.Stages() {
		if s.Spec.ResourceRef.Kind == kind {
			return true
		}
	}
	return false
}

// kinds returns the kinds of the Set, so that the cluster also knows custom kinds.
func kinds(set *stage.Set) (kinds []memory.Kind) {
	for _, kind := range set.Kinds() {
		kinds = append(kinds, memory.Kind{GroupVersionKind: kind, Status: true})
	}
	return kinds
}

// failures prints errors that occur while Stages are played. One bad object stops neither the
// others nor the program.
func failures(w io.Writer) func(stage.TraceEvent) {
	return func(e stage.TraceEvent) {
		if e.Kind == stage.TraceFailed {
			fmt.Fprintln(w, e)
		}
	}
}
