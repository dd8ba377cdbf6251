// Lifecycle shows what Stages do to an object: which Stage is played next and why, every state that the object
// can reach, and how long it takes until the object is Ready.
//
//	go run ./examples/lifecycle stages.yaml pod.yaml
//	go run ./examples/lifecycle                  # the preset pod-general, on a Pod
//
// The commands stagecraft explain, explore and diagram can do more.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/explore"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

//go:embed pod.yaml
var pod []byte

func main() {
	if err := run(context.Background(), os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run reads the files. Without files it takes the preset and a Pod.
func run(ctx context.Context, w io.Writer, files []string) error {
	source, others := presets.PodGeneral(), stage.Parse("pod.yaml", pod)
	if len(files) > 0 {
		var err error
		if source, err = stage.Load(files...); err != nil {
			return err
		}
		others = source
	}
	set, err := stage.Compile(stage.Options{}, source)
	if err != nil {
		return err // all faults, each with file, line and column
	}
	if len(others.OtherObjects()) == 0 {
		return errors.New("no object in the files")
	}
	return show(ctx, w, set, others)
}

// show prints what can happen to the first object.
func show(ctx context.Context, w io.Writer, set *stage.Set, source stage.Source) error {
	obj := source.OtherObjects()[0]
	fmt.Fprintln(w, set.Explain(obj, time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC)))
	graph, err := explore.Explore(ctx, set, explore.Options{}, obj)
	if err != nil {
		return err
	}
	fmt.Fprintln(w, graph)
	times, err := graph.TimeTo(explore.Ready, explore.TimeOptions{From: graph.Starts[0]})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "Ready: %s of the runs, after %s to %s, half of them within %s\n",
		explore.FormatPercent(times.Reach), times.Min, times.Max, times.Quantile(0.5))
	return err
}
