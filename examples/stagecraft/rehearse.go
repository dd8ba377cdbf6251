package main

import (
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stagecraft-go/stagecraft/examples/stagecraft/internal/rollouts"
	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/rehearse"
)

// A rehearsal is the flags of rehearse.
type rehearsal struct {
	output   *string
	approve  map[string]string
	start    string
	longest  time.Duration
	seed     uint64
	latency  time.Duration
	label    string
	explain  bool
	together bool
}

func rehearseCommand() *cobra.Command {
	var o rehearsal
	c := &cobra.Command{
		Use:   "rehearse FILE...",
		Short: "Rehearse StagedBindingPolicies in memory, and print what happens when, and where",
		Long: `Rehearse StagedBindingPolicies in memory, and print what happens when, and where.

FILE is Kubernetes YAML. The files have any of

  StagedBindingPolicy   at least one; each is rehearsed by itself, or, with --together, all on one hub
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
                        changes and lag, as package rehearse describes them
  Stage                 of kwok: what objects of a kind do in a cluster
  any other object      the workload, with its Namespaces and CustomResourceDefinitions

Deployments, StatefulSets, DaemonSets and Jobs without a Stage of their own have
Stages that make them ready.

Exit codes: 0 rehearsed, even if a rollout did not succeed; 1 a file has faults; 2 no answer.`,
		Example: `  stagecraft rehearse policy.yaml workload.yaml clusters.yaml --explain
  stagecraft rehearse rollout.yaml -o html > rollout.html`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args) },
	}
	flags := c.Flags()
	flags.BoolVar(&o.explain, "explain", false, "say what the rollout waits for")
	flags.StringToStringVar(&o.approve, "approve", nil, "approve before.STAGE or after.STAGE, after a `time`: after.dev=10m; may be repeated")
	flags.StringVar(&o.start, "start", "", "when it begins, for windows (default 2006-01-02T15:04:05Z)")
	flags.DurationVar(&o.longest, "longest", 24*time.Hour, "how long it may take")
	flags.Uint64Var(&o.seed, "seed", 1, "the `number` from which delays are drawn")
	flags.DurationVar(&o.latency, "latency", 500*time.Millisecond, "how long a status takes to the hub")
	flags.StringVar(&o.label, "cluster-label", "name", "the label of a cluster that holds its name, for maxConcurrency")
	flags.BoolVar(&o.together, "together", false, "rehearse all policies on one hub, instead of each by itself")
	o.output = addOutput(c, "text", "json", "yaml", "html", "mermaid")
	return c
}

// run rehearses each policy by itself, or all together.
func (o *rehearsal) run(c *cobra.Command, files []string) error {
	s, err := o.scenario(files, c.InOrStdin())
	if err != nil {
		return err
	}
	approvals, err := o.approvals(s)
	if err != nil {
		return err
	}
	timelines, err := s.Rehearse(c.Context(), o.together, approvals)
	if err != nil {
		return faultyInput{err}
	}
	return o.print(c.OutOrStdout(), timelines)
}

// scenario reads the files. The error joins all faults.
func (o *rehearsal) scenario(files []string, stdin io.Reader) (s rollouts.Scenario, err error) {
	if o.latency < 0 || o.longest <= 0 {
		return s, usage("want a --latency of at least 0s and a --longest of more")
	}
	in := rehearse.Input{Latency: o.latency, Seed: o.seed, Longest: o.longest, Explain: o.explain, Compile: staged.Options{ClusterLabel: o.label}}
	if o.start != "" {
		if in.Start, err = time.Parse(time.RFC3339, o.start); err != nil {
			return s, usage("--start %s: want a time such as 2006-01-02T15:04:05Z", o.start)
		}
	}
	var texts []rollouts.Text
	for _, name := range files {
		data, err := readText(name, stdin)
		if err != nil {
			return s, err
		}
		texts = append(texts, rollouts.Text{Name: name, Data: data})
	}
	if s, err = rollouts.Read(in, texts...); err != nil {
		return s, faultyInput{err}
	}
	return s, nil
}

// readText reads a file, or standard input ("-").
func readText(name string, stdin io.Reader) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(name)
}

// approvals reads the values of --approve. Each must be for a stage.
func (o *rehearsal) approvals(s rollouts.Scenario) (map[string]time.Duration, error) {
	all := map[string]time.Duration{}
	for _, key := range slices.Sorted(maps.Keys(o.approve)) {
		after, err := time.ParseDuration(o.approve[key])
		if err != nil {
			return nil, usage("--approve %s=%s: want something like after.dev=10m", key, o.approve[key])
		}
		if !s.Concerns(key) {
			return nil, usage("--approve %s: want before. or after. and the name of a stage", key)
		}
		all[key] = after
	}
	return all, nil
}

func (o *rehearsal) print(w io.Writer, timelines []*rehearse.Timeline) error {
	switch *o.output {
	case "html":
		return rehearse.WriteHTML(w, timelines...)
	case "json", "yaml":
		all := []rollouts.Timeline{}
		for _, t := range timelines {
			all = append(all, rollouts.TimelineOf(t))
		}
		return encode(w, *o.output, all)
	}
	var text strings.Builder
	for _, t := range timelines {
		if *o.output == "mermaid" {
			text.WriteString(t.Mermaid())
		} else {
			text.WriteString(t.Policy + "\n" + t.String() + "\n")
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}
