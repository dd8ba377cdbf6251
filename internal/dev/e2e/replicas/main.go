// Command replicas measures how long the controller of ReplicaSets takes to create N Pods of one
// ReplicaSet, on a real control plane and in a simulation. kube-controller-manager runs with its
// default rate limit, and without one.
//
//	go run . [-pods 100,1000,3000]
//
// Time is from the creation of the ReplicaSet until a watch has seen the last Pod. Each run starts
// its own kube-controller-manager, so that its limits are full. The Pods get no node.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/controlplane"
)

func main() {
	log.SetLogger(logr.Discard()) // the output of envtest
	pods := flag.String("pods", "100,1000,3000", "how many Pods, a `list`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *pods, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "replicas:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, list string, out io.Writer) (err error) {
	assets, err := controlplane.Assets("../../kubebin", os.Stderr)
	if err != nil {
		return err
	}
	plane, err := controlplane.Start(assets)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	fmt.Fprintf(out, "%-8s %-16s %12s %12s %12s\n", "Pods", "limit", "simulated, s", "measured, s", "fitted")
	for _, word := range strings.Split(list, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return fmt.Errorf("-pods: %q is no number above 0", word)
		}
		for _, l := range limits {
			simulated, err := simulate(ctx, n, l)
			if err != nil {
				return err
			}
			measured, err := measure(ctx, plane, n, l)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "%-8d %-16s %12.2f %12.2f %12s\n", n, l.name, simulated.Seconds(), measured.Seconds(), "no")
		}
	}
	return nil
}

// longest is how long a run may take.
const longest = 10 * time.Minute
