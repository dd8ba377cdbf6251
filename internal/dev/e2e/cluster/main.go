// Command cluster compares simulators of pods on one real API server: kwok, stagecraft, and floor,
// a program that does the least that any simulator could do. Each is a separate process, plays the
// same Stages (the presets of this project) with the same number of workers, and takes the same
// pods to Running.
//
//	go run . [-pods 5000] [-nodes 10] [-rounds 3] [-workers 4,16] [-modes backlog,live] [-players floor,kwok,stagecraft] [-keep DIR]
//
// In mode backlog the pods exist before the program starts, and time is measured from its start. In
// mode live the program runs and its nodes are ready before 25 goroutines begin to create pods.
// Rounds of the programs alternate, so that each program follows every other one equally often.
// After each round all pods are deleted with a grace period of 30 seconds, which the program ends.
//
// The machine is fully loaded, so pods/s depends on the CPU that the server and this program leave
// over. The meaningful figure is CPU per pod: "ms/pod" of the program, "all ms/pod" with the
// servers and the pod creators, and "cores", how many cores these kept busy. "others" is how many
// cores other programs on the machine used: unless it is near 0, a run says little about rates.
//
// It exits with 1 if a goal is missed: see goals.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/controlplane"
)

type options struct {
	pods, nodes, rounds int
	workers             []int
	modes               []mode
	players             []string
	keep                string // directory for logs and profiles
}

func main() {
	log.SetLogger(logr.Discard()) // the output of envtest
	o, err := parse(os.Args[1:])
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		err = run(ctx, o)
		stop()
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	o := options{workers: []int{4, 16}, modes: []mode{backlog, live}, players: []string{"floor", "kwok", "stagecraft"}}
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	flags.IntVar(&o.pods, "pods", 5000, "pods in a round")
	flags.IntVar(&o.nodes, "nodes", 10, "nodes in a round")
	flags.IntVar(&o.rounds, "rounds", 3, "how often each program is measured in each setting")
	flags.StringVar(&o.keep, "keep", "", "directory where logs and CPU profiles stay (default: they do not)")
	flags.Func("workers", "requests under way at once (default 4,16)", func(text string) (err error) {
		o.workers, err = list(text, positive)
		return err
	})
	flags.Func("modes", "settings (default backlog,live)", func(text string) (err error) {
		o.modes, err = list(text, knownMode)
		return err
	})
	flags.Func("players", "programs (default floor,kwok,stagecraft)", func(text string) error {
		o.players = strings.Split(text, ",")
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if min(o.pods, o.nodes, o.rounds) < 1 {
		return o, errors.New("-pods, -nodes and -rounds must be positive")
	}
	return o, nil
}

// list reads items separated by commas.
func list[T any](text string, item func(string) (T, error)) ([]T, error) {
	var all []T
	var errs []error
	for _, part := range strings.Split(text, ",") {
		v, err := item(part)
		all, errs = append(all, v), append(errs, err)
	}
	return all, errors.Join(errs...)
}

func positive(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err == nil && n < 1 {
		err = fmt.Errorf("%d is not positive", n)
	}
	return n, err
}

func knownMode(text string) (mode, error) {
	if runMode[mode(text)] == nil {
		return "", fmt.Errorf("%q is neither backlog nor live", text)
	}
	return mode(text), nil
}

func run(ctx context.Context, o options) error {
	programs, clean, err := buildPrograms(o)
	if err != nil {
		return err
	}
	defer clean()
	assets, err := controlplane.Assets("../../kubebin", os.Stderr)
	if err != nil {
		return err
	}
	plane, err := controlplane.Start(assets)
	if err != nil {
		return err
	}
	results, err := measureAll(ctx, o, plane, programs)
	if err != nil {
		return errors.Join(err, plane.Stop())
	}
	fmt.Println()
	missed := compare(os.Stdout, results)
	return errors.Join(plane.Stop(), missed)
}

// measureAll measures every program in every setting. A first round, whose result is discarded,
// warms up the server.
func measureAll(ctx context.Context, o options, plane *controlplane.Plane, programs []program) ([]result, error) {
	stand, err := newEnvironment(plane, o)
	if err != nil {
		return nil, err
	}
	if _, err := stand.round(ctx, setting{mode: live, workers: o.workers[0], pods: 500}, programs[0]); err != nil {
		return nil, fmt.Errorf("warming up: %w", err)
	}
	rows := newRows(os.Stdout)
	var all []result
	for i, s := range o.settings() {
		for _, p := range orderForRound(programs, i/len(o.workers)/len(o.modes)) {
			r, err := stand.round(ctx, s, p)
			if err != nil {
				return nil, fmt.Errorf("%s, %s, %d workers: %w", p.name, s.mode, s.workers, err)
			}
			rows.print(r)
			all = append(all, r)
		}
	}
	return all, nil
}

// orderForRound returns the order of the programs in a round. Each pair of rounds begins with
// another program, and the second round of a pair has the reverse order. This is because a server
// gets slower with age, and the remains of one program slow down the next. Six rounds of three
// programs have all orders.
func orderForRound(programs []program, round int) []program {
	first := round / 2 % len(programs)
	order := slices.Concat(programs[first:], programs[:first])
	if round%2 == 1 {
		slices.Reverse(order)
	}
	return order
}

// settings are all rounds of a program, in order.
func (o options) settings() []setting {
	var all []setting
	for range o.rounds {
		for _, workers := range o.workers {
			for _, m := range o.modes {
				all = append(all, setting{mode: m, workers: workers, pods: o.pods})
			}
		}
	}
	return all
}

// roundTimeout is how long a round may take.
const roundTimeout = 10 * time.Minute
