// Rollout rehearses the nginx policy of KubeStellar's workload stager, from dev to prod, on three clusters in memory: one dev, two prod. Stages make
// the Deployment available in each; it prints what happens when, and where.
//
//	go run ./examples/rollout
//	go run ./examples/rollout -explain            # why it waits, at each step
//	go run ./examples/rollout -clusters           # two dev clusters, and a policy that fits them
//	go run ./examples/rollout -policy my-policy.yaml -seed 2 -mermaid
//
// A file of -policy may also hold StatusCollectors and workload objects, in place of the nginx ones.
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
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/rehearse"
)

var (
	//go:embed policy.yaml
	policyYAML []byte
	//go:embed policy-num.yaml
	policyNumYAML []byte
	//go:embed workload.yaml
	workloadYAML []byte
	//go:embed stages.yaml
	stagesYAML []byte
)

type options struct {
	policy   string
	seed     uint64
	latency  time.Duration
	explain  bool
	mermaid  bool
	clusters bool
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("rollout", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.policy, "policy", "", "rehearse the policies of this file")
	flags.Uint64Var(&o.seed, "seed", 1, "draw the delays from this number")
	flags.DurationVar(&o.latency, "latency", 500*time.Millisecond, "how long a status takes to the hub")
	flags.BoolVar(&o.explain, "explain", false, "say what the rollout waits for")
	flags.BoolVar(&o.mermaid, "mermaid", false, "print a Gantt chart for mermaid")
	flags.BoolVar(&o.clusters, "clusters", false, "two dev clusters, and a second policy for them")
	return o, flags.Parse(args)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main with all that it depends on. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if err := play(ctx, o, stdout); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// play rehearses each policy on clusters of its own.
func play(ctx context.Context, o options, stdout io.Writer) error {
	sources, err := o.sources()
	if err != nil {
		return err
	}
	if _, err := staged.Compile(staged.Options{}, sources...); err != nil {
		return err // all faults, with their places
	}
	stages, err := stage.Compile(stage.Options{}, stage.Parse("stages.yaml", stagesYAML))
	if err != nil {
		return err
	}
	in := rehearse.Input{Clusters: o.members(), Stages: stages, Latency: o.latency, Seed: o.seed, Explain: o.explain}
	if err := workload(&in, sources); err != nil {
		return err
	}
	for _, s := range sources {
		for _, policy := range s.Policies() {
			in.Policy = policy
			timeline, err := rehearse.Run(ctx, in)
			if err != nil {
				return err
			}
			print(stdout, policy.Name, timeline, o.mermaid)
		}
	}
	return nil
}

func print(w io.Writer, name string, t *rehearse.Timeline, mermaid bool) {
	if mermaid {
		fmt.Fprint(w, t.Mermaid())
		return
	}
	fmt.Fprintf(w, "%s\n%s\n", name, t)
}

// sources are the policies to rehearse, in the order in which they are.
func (o options) sources() ([]staged.Source, error) {
	if o.policy != "" {
		text, err := os.ReadFile(o.policy)
		return []staged.Source{staged.Parse(o.policy, text)}, err
	}
	sources := []staged.Source{staged.Parse("policy.yaml", policyYAML)}
	if o.clusters {
		sources = append(sources, staged.Parse("policy-num.yaml", policyNumYAML))
	}
	return sources, nil
}

func (o options) members() []rehearse.Cluster {
	dev, prod := map[string]string{"env": "dev"}, map[string]string{"env": "prod"}
	members := []rehearse.Cluster{{Name: "dev1", Labels: dev}, {Name: "prod1", Labels: prod}, {Name: "prod2", Labels: prod}}
	if o.clusters {
		members = append(members, rehearse.Cluster{Name: "dev2", Labels: dev})
	}
	return members
}

// workload takes collectors and objects from the files of the policies, or else those of nginx.
func workload(in *rehearse.Input, sources []staged.Source) error {
	var others []*unstructured.Unstructured
	for _, s := range sources {
		others = append(others, s.Others()...)
	}
	if len(others) == 0 {
		others = staged.Parse("workload.yaml", workloadYAML).Others()
	}
	for _, obj := range others {
		if obj.GetKind() != "StatusCollector" {
			in.Objects = append(in.Objects, obj)
			continue
		}
		var c control.StatusCollector
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &c); err != nil {
			return fmt.Errorf("StatusCollector %s: %w", obj.GetName(), err)
		}
		in.Collectors = append(in.Collectors, c)
	}
	return nil
}
