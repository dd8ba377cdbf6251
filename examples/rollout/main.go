// Rollout rehearses StagedBindingPolicies in memory and prints what happens, when, and in which
// cluster. Without flags it plays the nginx policy of KubeStellar's workload stager, from dev to
// prod, on one dev and two prod clusters. With -policy it plays the policies, workload and clusters
// of a file.
//
//	go run ./examples/rollout
//	go run ./examples/rollout -explain            # what the rollout waits for
//	go run ./examples/rollout -clusters           # two dev clusters, and a policy that fits them
//	go run ./examples/rollout -update             # a new image, stage by stage
//	go run ./examples/rollout -rollback           # a bad image, and how the old one comes back
//	go run ./examples/rollout -ocm                # the same over Open Cluster Management
//	go run ./examples/rollout -argo               # the same over Argo CD
//	go run ./examples/rollout -policy my.yaml -seed 2 -html > my.html
//	go run ./examples/rollout -help               # what may be in a file
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
	"time"

	"github.com/stagecraft-go/stagecraft/staged/rehearse"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

const usage = `Usage: rollout [flags]

Rehearses StagedBindingPolicies in memory and prints what happens.

A file of -policy is Kubernetes YAML, with any of

  StagedBindingPolicy   at least one; each is rehearsed by itself, or, with -together, all on one hub
  StatusCollector       those that the policies name
  ManagedCluster        a cluster: its name and its labels. Annotations say what happens there:
                          rehearsal.script   the statuses of its objects, and how long after they
                                             came they have them, as YAML:
                                             [{after: 10s, kind: Deployment, status: {availableReplicas: 1}}]
                                             without kind: all objects. It replaces Stages.
                          rehearsal.latency  how long its statuses take to the hub, such as 5s
                          rehearsal.silent   "true": it never reports
                          rehearsal.had      "true": it has the workload from the start, from elsewhere
  Script                what users and clusters do meanwhile, and whether there is a second player:
                        changes and lag, as package rehearse describes them; see update.yaml
  Stage                 of kwok: what objects of a kind do in a cluster
  any other object      the workload, with its Namespaces and CustomResourceDefinitions

Without ManagedClusters there are dev1 (env=dev), prod1 and prod2 (env=prod). Without
StatusCollectors and other objects there is the nginx Deployment with its collector. Deployments,
StatefulSets, DaemonSets and Jobs without a Stage of their own have Stages that make them ready.

The exit code is 0 if all policies were rehearsed, even if a rollout did not succeed; 1 if a file has
faults; 2 if the command has faults, or no file has a policy.

`

type options struct {
	policies []string
	approve  map[string]time.Duration
	start    time.Time
	longest  time.Duration
	seed     uint64
	latency  time.Duration
	label    string
	explain  bool
	mermaid  bool
	html     bool
	clusters bool
	update   bool
	rollback bool
	together bool
	ocm      bool
	argo     bool
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	o.approve = map[string]time.Duration{}
	flags := flag.NewFlagSet("rollout", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, usage, "Flags:\n")
		flags.PrintDefaults()
	}
	flags.Func("policy", "rehearse the policies of this `file`; may be repeated", func(s string) error {
		o.policies = append(o.policies, s)
		return nil
	})
	flags.Func("approve", "approve before.<stage> or after.<stage>, after a time: `after.dev=10m`; may be repeated", o.approval)
	flags.Func("start", "when it begins, for windows (default 2006-01-02T15:04:05Z)", func(s string) (err error) {
		o.start, err = time.Parse(time.RFC3339, s)
		return err
	})
	flags.DurationVar(&o.longest, "longest", 24*time.Hour, "how long it may take")
	flags.Uint64Var(&o.seed, "seed", 1, "draw the delays from this number")
	flags.DurationVar(&o.latency, "latency", 500*time.Millisecond, "how long a status takes to the hub")
	flags.StringVar(&o.label, "cluster-label", "name", "the label of a cluster that holds its name, for maxConcurrency")
	flags.BoolVar(&o.explain, "explain", false, "say what the rollout waits for")
	flags.BoolVar(&o.mermaid, "mermaid", false, "print a Gantt chart for mermaid, one a policy")
	flags.BoolVar(&o.html, "html", false, "print a page with charts")
	flags.BoolVar(&o.clusters, "clusters", false, "two dev clusters, and a second policy for them")
	flags.BoolVar(&o.update, "update", false, "a new image, rolled out stage by stage and cluster by cluster")
	flags.BoolVar(&o.rollback, "rollback", false, "a bad image, and how the old one comes back")
	flags.BoolVar(&o.ocm, "ocm", false, "a bad version that goes back, over Open Cluster Management")
	flags.BoolVar(&o.argo, "argo", false, "a bad version that goes back, over Argo CD")
	flags.BoolVar(&o.together, "together", false, "rehearse all policies on one hub, instead of each by itself")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	return o, o.check(flags.Args())
}

// approval reads a value of -approve.
func (o *options) approval(s string) error {
	key, after, ok := strings.Cut(s, "=")
	d, err := time.ParseDuration(after)
	if !ok || err != nil {
		return errors.New("want something like after.dev=10m")
	}
	o.approve[key] = d
	return nil
}

// A usageError is a fault of the command.
type usageError struct{ error }

func (o *options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return usageError{fmt.Errorf("what is %q? A file goes to -policy", rest[0])}
	case o.html && o.mermaid:
		return usageError{errors.New("want -html or -mermaid, not both")}
	case o.latency < 0 || o.longest <= 0:
		return usageError{errors.New("want a -latency of at least 0s and a -longest of more")}
	}
	return nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main with its dependencies as arguments. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	var wrong usageError
	if err != nil && !errors.As(err, &wrong) {
		return 2 // package flag has printed the error
	}
	if err == nil {
		err = play(ctx, o, stdout)
	}
	switch {
	case errors.As(err, &wrong):
		fmt.Fprintln(stderr, err)
		return 2
	case err != nil:
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// play rehearses each policy on its own clusters, or all together.
func play(ctx context.Context, o options, stdout io.Writer) error {
	if o.ocm || o.argo {
		return playPort(ctx, o.argo, stdout)
	}
	s, err := o.scenario()
	if err != nil {
		return err
	}
	var timelines []*rehearse.Timeline
	policies := s.policies
	if o.together {
		policies = policies[:1]
	}
	for _, policy := range policies {
		in := s.input
		in.Policy, in.Approvals = policy, o.approvals(policy)
		in.Others = s.policies[len(policies):]
		timeline, fault := rehearse.Run(ctx, in)
		if fault != nil {
			err = errors.Join(err, fmt.Errorf("policy %q: %w", policy.Name, fault))
		}
		timelines = append(timelines, timeline)
	}
	if err != nil {
		return err
	}
	return o.print(stdout, timelines)
}

// approvals returns the approvals that concern a policy.
func (o options) approvals(policy v1alpha1.StagedBindingPolicy) map[string]time.Duration {
	concerned := map[string]time.Duration{}
	for _, stage := range policy.Spec.Stages {
		for _, key := range []string{"before." + stage.Name, "after." + stage.Name} {
			if after, ok := o.approve[key]; ok {
				concerned[key] = after
			}
		}
	}
	return concerned
}

func (o options) print(w io.Writer, timelines []*rehearse.Timeline) error {
	if o.html {
		return rehearse.WriteHTML(w, timelines...)
	}
	for _, t := range timelines {
		text := t.Policy + "\n" + t.String() + "\n"
		if o.mermaid {
			text = t.Mermaid()
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
	}
	return nil
}
