package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/kstatus/wait"
)

// poll is the time between two reads of the feed.
const poll = 200 * time.Millisecond

var errStreamEnded = errors.New("the input has ended")

// waitFor waits until the objects are Current in the stream, and shows the progress: on a terminal a
// line for each object that changes in place, elsewhere a line for each change. It returns the exit
// code.
func (o options) waitFor(objects []*unstructured.Unstructured, stream io.Reader, stdout, stderr io.Writer) int {
	ctx, cancel := context.WithTimeout(context.Background(), o.timeout)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	cluster := &feed{objects: map[wait.Ref]*unstructured.Unstructured{}}
	go func() {
		err := cluster.read(stream)
		select {
		case <-ctx.Done():
		case <-time.After(2 * poll): // what was read last counts too
		}
		stop(errors.Join(errStreamEnded, err))
	}()
	refs := make([]wait.Ref, len(objects))
	for i, obj := range objects {
		refs[i] = wait.RefOf(obj)
	}
	report := wait.NewReporter(stdout)
	report.All = true
	var last *wait.Collector
	err := wait.For(ctx, cluster, refs, wait.Policy{
		Options: wait.Options{Rules: profiles[o.profile].HonorNoWait(o.noWait), Interval: poll},
		Goal:    wait.Goal{Basis: bases[o.basis]}, IgnoreSuspended: true, Report: report,
		Observe: func(c *wait.Collector, _ wait.State) { last = c },
	})
	if last != nil {
		fmt.Fprintln(stdout, last.Summary(time.Now()))
	}
	var unfinished *wait.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &unfinished):
		fmt.Fprintln(stderr, "readiness:", unfinished.Cause)
		return 1
	}
	fmt.Fprintln(stderr, "readiness:", err)
	return 2
}
