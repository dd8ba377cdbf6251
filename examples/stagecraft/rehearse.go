package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stagecraft-go/stagecraft/staged/rehearse"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
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

// run rehearses each policy on its own clusters, or all together.
func (o *rehearsal) run(c *cobra.Command, files []string) error {
	if o.latency < 0 || o.longest <= 0 {
		return usage("want a --latency of at least 0s and a --longest of more")
	}
	s, err := o.scenario(files, c.InOrStdin())
	if err != nil {
		return err
	}
	approvals, err := o.approvals(s.policies)
	if err != nil {
		return err
	}
	policies := s.policies
	if o.together {
		policies = policies[:1]
	}
	s.input.Others = s.policies[len(policies):]
	timelines, err := rehearseAll(c.Context(), s.input, policies, approvals)
	if err != nil {
		return faultyInput{err}
	}
	return o.print(c.OutOrStdout(), timelines)
}

func rehearseAll(ctx context.Context, in rehearse.Input, policies []v1alpha1.StagedBindingPolicy, approvals map[string]time.Duration) (all []*rehearse.Timeline, err error) {
	for _, policy := range policies {
		in.Policy, in.Approvals = policy, concerning(policy, approvals)
		timeline, fault := rehearse.Run(ctx, in)
		if fault != nil {
			err = errors.Join(err, fmt.Errorf("policy %q: %w", policy.Name, fault))
		}
		all = append(all, timeline)
	}
	return all, err
}

// approvals reads the values of --approve. Each must be for a stage.
func (o *rehearsal) approvals(policies []v1alpha1.StagedBindingPolicy) (map[string]time.Duration, error) {
	all := map[string]time.Duration{}
	for _, key := range slices.Sorted(maps.Keys(o.approve)) {
		after, err := time.ParseDuration(o.approve[key])
		if err != nil {
			return nil, usage("--approve %s=%s: want something like after.dev=10m", key, o.approve[key])
		}
		one := map[string]time.Duration{key: after}
		if !slices.ContainsFunc(policies, func(p v1alpha1.StagedBindingPolicy) bool { return len(concerning(p, one)) > 0 }) {
			return nil, usage("--approve %s: want before. or after. and the name of a stage", key)
		}
		all[key] = after
	}
	return all, nil
}

// concerning returns the approvals that concern a policy.
func concerning(policy v1alpha1.StagedBindingPolicy, approvals map[string]time.Duration) map[string]time.Duration {
	own := map[string]time.Duration{}
	for _, stage := range policy.Spec.Stages {
		for _, key := range []string{"before." + stage.Name, "after." + stage.Name} {
			if after, ok := approvals[key]; ok {
				own[key] = after
			}
		}
	}
	return own
}

// A timeline is a timeline as data.
type timeline struct {
	Policy    string    `json:"policy"`
	Start     time.Time `json:"start"`
	Succeeded bool      `json:"succeeded"`
	Message   string    `json:"message"`
	Entries   []entry   `json:"entries"`
	Clusters  []history `json:"clusters,omitempty"`
	Lints     []string  `json:"lints,omitempty"`
}

type entry struct {
	At            string `json:"at"` // after the start
	Policy        string `json:"policy,omitempty"`
	Stage         string `json:"stage,omitempty"`
	BindingPolicy string `json:"bindingPolicy,omitempty"`
	Cluster       string `json:"cluster,omitempty"`
	Text          string `json:"text"`
	Waiting       bool   `json:"waiting,omitempty"`
}

type history struct {
	Cluster string   `json:"cluster"`
	Had     []string `json:"had"`
	Never   []string `json:"never,omitempty"`
}

func (o *rehearsal) print(w io.Writer, timelines []*rehearse.Timeline) error {
	switch *o.output {
	case "html":
		return rehearse.WriteHTML(w, timelines...)
	case "json", "yaml":
		all := []timeline{}
		for _, t := range timelines {
			all = append(all, timelineOf(t))
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

func timelineOf(t *rehearse.Timeline) timeline {
	data := timeline{Policy: t.Policy, Start: t.Start, Succeeded: t.Succeeded, Message: t.Message, Entries: []entry{}}
	for _, e := range t.Entries {
		data.Entries = append(data.Entries, entry{At: e.At.String(), Policy: e.Policy, Stage: e.Stage, BindingPolicy: e.BindingPolicy, Cluster: e.Cluster, Text: e.Text, Waiting: e.Waiting})
	}
	for _, h := range t.Clusters {
		data.Clusters = append(data.Clusters, history(h))
	}
	for _, l := range t.Lints {
		data.Lints = append(data.Lints, l.String())
	}
	return data
}
