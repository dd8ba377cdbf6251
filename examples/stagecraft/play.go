package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/kube/nodes"
	"github.com/stagecraft-go/stagecraft/stage/kube/stages"
	"github.com/stagecraft-go/stagecraft/stage/player"
)

// A playing is the flags of play.
type playing struct {
	*connection
	*inputFlags
	output     *string
	policy     nodes.Policy
	allNodes   bool
	lease      string
	seed       uint64
	definition bool
}

func playCommand() *cobra.Command {
	var o playing
	c := &cobra.Command{
		Use:   "play [FILE]...",
		Short: "Play Stages on a real cluster, until Ctrl-C",
		Long: `Play Stages on a real cluster, until Ctrl-C.

The Stages are those of the files and presets. Without both, the Stages of the
cluster are played, as kwok does: objects of the kind Stage, whose definition
stagecraft play --definition prints.

Only simulated Nodes, and the Pods on them, may be played: say which Nodes are
simulated, so that no kubelet loses its Pods.`,
		Example: `  stagecraft play --nodes type=kwok --preset node-fast --preset node-heartbeat-with-lease --preset pod-general
  stagecraft play --definition | kubectl apply -f -
  stagecraft play --nodes type=kwok            # the Stages of the cluster`,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args) },
	}
	flags := c.Flags()
	flags.StringVar(&o.policy.Labels, "nodes", "", "the Nodes with these `labels` are simulated, such as type=kwok")
	flags.StringVar(&o.policy.Annotations, "nodes-annotated", "", "the Nodes with these `annotations` are simulated")
	flags.StringSliceVar(&o.policy.Names, "node", nil, "the Node with this `name` is simulated; may be repeated")
	flags.BoolVar(&o.allNodes, "all-nodes", false, "all Nodes of the cluster are simulated")
	hostname, _ := os.Hostname() // "" is not a holder, see below
	flags.StringVar(&o.lease, "lease", cmp.Or(hostname, "stagecraft"), "hold the Leases of the Nodes under this `name`; none: without Leases")
	o.inputFlags = addInput(c, false)
	flags.Uint64Var(&o.seed, "seed", 0, "the `number` from which delays are drawn")
	flags.BoolVar(&o.definition, "definition", false, "print the CustomResourceDefinition of Stages, and do nothing else")
	o.output = addOutput(c, "text", "json", "yaml")
	o.connection = addConnection(c)
	return c
}

func (o *playing) run(c *cobra.Command, files []string) error {
	if o.definition {
		_, err := io.WriteString(c.OutOrStdout(), stages.Definition())
		return err
	}
	if o.policy.Labels+o.policy.Annotations == "" && len(o.policy.Names) == 0 && !o.allNodes {
		return usage("say which Nodes are simulated: --nodes LABELS, --nodes-annotated ANNOTATIONS, --node NAME, or --all-nodes")
	}
	set, ofCluster := stage.MustCompile(), len(files)+len(o.presets) == 0
	if !ofCluster {
		in, err := o.read(files, c.InOrStdin())
		if err != nil {
			return err
		}
		if set, err = o.compile(in); err != nil {
			return err
		}
	}
	cluster, err := o.cluster()
	if err != nil {
		return err
	}
	trace := &traceWriter{out: c.OutOrStdout(), err: c.ErrOrStderr(), format: *o.output}
	options := nodes.Options{Policy: o.policy, Failed: trace.failed}
	if o.lease != "none" {
		options.Lease.Identity = o.lease
	}
	holder, err := nodes.New(cluster, options)
	if err != nil {
		return usageError{err}
	}
	p := player.New(set, cluster, player.Options{Seed: o.seed, Filter: holder.Plays, Select: holder.Rules().Select(), Trace: trace.event})
	all := []func(context.Context) error{func(ctx context.Context) error { return holder.Run(ctx, p.Refilter) }, p.Run}
	if ofCluster {
		all = append(all, followStages(cluster, p, trace))
	}
	return together(c.Context(), all...)
}

// followStages plays the Stages of the cluster.
func followStages(cluster *kube.Cluster, p *player.Player, trace *traceWriter) func(context.Context) error {
	return func(ctx context.Context) error {
		return stages.Follow(ctx, cluster, p, stages.Options{Failed: trace.failed, Trace: trace.version})
	}
}

// together runs functions until one of them fails or ctx is done, and returns when all have ended.
func together(ctx context.Context, functions ...func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	errs := make([]error, len(functions))
	for i, f := range functions {
		all.Go(func() {
			if err := f(ctx); !errors.Is(err, context.Canceled) {
				errs[i] = err
			}
			cancel()
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// A traceWriter prints what a player does, one line an event, and what failed to another stream. It is safe
// for concurrent use.
type traceWriter struct {
	mutex    sync.Mutex
	out, err io.Writer
	format   string // text, json (a line each) or yaml (a document each)
}

// event prints the transitions, and the requests that failed.
func (w *traceWriter) event(e stage.TraceEvent) {
	if e.Err != nil {
		w.failed(e.Err)
	}
	if e.Kind != stage.TracePlayed {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	data := played{e.Time.UTC().Format("2006-01-02T15:04:05.000Z"), e.Key.String(), e.Stage}
	switch w.format {
	case "json":
		line, _ := json.Marshal(data) // it is plain data
		fmt.Fprintf(w.out, "%s\n", line)
	case "yaml":
		document, _ := yaml.Marshal(data)
		fmt.Fprintf(w.out, "---\n%s", document)
	default:
		fmt.Fprintln(w.out, e.Time.UTC().Format("15:04:05.000"), e)
	}
}

// A played is a transition as data.
type played struct {
	Time   string `json:"time"`
	Object string `json:"object"`
	Stage  string `json:"stage"`
}

// version prints what became of a Stage of the cluster.
func (w *traceWriter) version(v stages.VersionStatus) {
	for _, fault := range v.Faults {
		w.failed(fmt.Errorf("stage %q: %s", v.Stage, fault))
	}
}

func (w *traceWriter) failed(err error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	fmt.Fprintln(w.err, "stagecraft:", err)
}
