// Lifecycle shows what a set of Stages does to an object. It prints every state that the object can
// reach, as text or as a picture. It also explains why a Stage is played, and how long a target
// takes.
//
//	go run ./examples/lifecycle -stages stages.yaml -object pod.yaml                   # every state and transition, as text
//	go run ./examples/lifecycle -stages stages.yaml -object pod.yaml -o graph.svg      # or .mmd for Mermaid, .dot for Graphviz
//	go run ./examples/lifecycle -stages stages.yaml -o graph.svg                       # the Stages themselves
//	go run ./examples/lifecycle -stages stages.yaml -object pod.yaml -explain          # why a Stage is played, or why none is
//	go run ./examples/lifecycle -stages stages.yaml -lint                              # mistakes in Stages that compile
//	go run ./examples/lifecycle -stages stages.yaml -object pod.yaml -time-to Ready    # how long it takes, and how likely it is
//
// Stages and objects can be in the same file. -preset plays the Stages of package presets. With
// -delete a user can delete the object in any state. The current time is -now. Without the flag it
// is the latest time in the objects. The program exits with 1 if the Stages have faults or -lint
// has findings, and with 2 if anything else fails.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/files"
	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/diagram"
	"github.com/stagecraft-go/stagecraft/stage/explore"
	"github.com/stagecraft-go/stagecraft/stage/lint"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// run is main without global state, except for the time. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	in, err := read(o)
	if err == nil {
		err = show(ctx, o, in, stdout)
	}
	var faults stage.Errors
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errFindings):
		return 1
	case errors.As(err, &faults):
		fmt.Fprintln(stderr, faults)
		return 1
	}
	fmt.Fprintln(stderr, "lifecycle:", err)
	return 2
}

// errFindings is returned if lint has findings.
var errFindings = errors.New("found")

// show does everything that the flags ask for.
func show(ctx context.Context, o options, in input, stdout io.Writer) error {
	set, err := stage.Compile(stage.Options{Extensions: o.extensions}, in.sources...)
	if o.lint {
		if found := printFindings(stdout, lint.Check(in.sources...)); err == nil && (found != nil || o.only("lint")) {
			return found
		}
	}
	if err != nil {
		return err
	}
	if o.explain {
		text, err := explain(ctx, set, in, o.exploration(in))
		fmt.Fprint(stdout, text)
		if err != nil || o.only("explain") {
			return err
		}
	}
	if len(in.objects) == 0 {
		if o.timeTo != "" || o.output == "" {
			return in.errNoObject()
		}
		return draw(o.output, diagram.FromStages(in.stages()))
	}
	graph, err := explore.Explore(ctx, set, o.exploration(in), in.objects...)
	if err != nil {
		return err
	}
	return showGraph(o, in, graph, stdout)
}

// explain describes what may happen now. An object that does not come from a cluster is shown as a
// cluster would store it. If no object has Stages, it explains that for each object.
func explain(ctx context.Context, set *stage.Set, in input, e explore.Options) (text string, err error) {
	if len(in.objects)+len(in.others) == 0 {
		return "", in.errNoObject()
	}
	if len(in.objects) == 0 {
		in.objects, in.others = in.others, nil
	}
	e.MaxStates, e.Actions, e.OtherObjects = 1, nil, in.others
	graph, err := explore.Explore(ctx, set, e, in.objects...)
	if err != nil {
		return "", err
	}
	for i, obj := range in.objects {
		if stored := graph.States[graph.Starts[i]].Object(); obj.GetUID() == "" && stored != nil {
			obj = stored
		}
		text += set.Explain(obj, e.Start).String()
	}
	return text, nil
}

// showGraph writes a graph as text, as a picture, or as times.
func showGraph(o options, in input, graph *explore.Graph, stdout io.Writer) error {
	if o.output != "" {
		if err := draw(o.output, diagram.FromGraph(graph, diagram.Options{Stages: in.stages(), Selectors: o.selectors})); err != nil {
			return err
		}
	}
	if o.timeTo != "" {
		return printTimes(stdout, graph, o, o.start(in))
	}
	if o.output == "" {
		fmt.Fprint(stdout, graph)
	}
	return nil
}

// exploration returns the options for package explore. Unknown kinds are assumed to be namespaced,
// with a status.
func (o options) exploration(in input) explore.Options {
	e := explore.Options{MaxStates: o.states, OtherObjects: in.others, Start: o.start(in)}
	if o.delete {
		e.Actions = []explore.Action{explore.Delete()}
	}
	for _, kind := range in.kinds() {
		e.Kinds = append(e.Kinds, memory.Kind{GroupVersionKind: kind, Status: true})
	}
	return e
}

// start is the time at which the objects are evaluated.
func (o options) start(in input) time.Time {
	if o.now.IsZero() {
		return in.latestTime()
	}
	return o.now
}

// formats are the output formats, by file extension.
var formats = map[string]func(*diagram.Diagram) []byte{
	".svg": (*diagram.Diagram).SVG,
	".mmd": func(d *diagram.Diagram) []byte { return []byte(d.Mermaid()) },
	".dot": func(d *diagram.Diagram) []byte { return []byte(d.DOT()) },
}

// maxBoxes is the largest number of boxes in an SVG; Graphviz is better for more.
const maxBoxes = 500

func draw(file string, d *diagram.Diagram) error {
	if filepath.Ext(file) == ".svg" && len(d.Boxes) > maxBoxes {
		return fmt.Errorf("%d states are too many for a picture; try a .dot file, or -states", len(d.Boxes))
	}
	return files.WriteBytes(file, formats[filepath.Ext(file)](d))
}

// printFindings prints what lint found.
func printFindings(w io.Writer, findings []lint.Finding) error {
	var err error
	for _, f := range findings {
		fmt.Fprintln(w, f)
		if !f.Rule.Informational() {
			err = errFindings
		}
	}
	return err
}

// printTimes prints the time that each object takes to the target.
func printTimes(w io.Writer, graph *explore.Graph, o options, start time.Time) error {
	target, err := targetOf(o.timeTo, start)
	if err != nil {
		return err
	}
	for _, first := range graph.Starts {
		times, err := graph.TimeTo(target, explore.TimeOptions{From: first, Samples: o.samples, Seed: o.seed})
		if err != nil {
			return err
		}
		var out bytes.Buffer
		fmt.Fprintf(&out, "%s to %s\n", graph.States[first].Key, o.timeTo)
		printTimesOf(&out, times)
		if _, err := out.WriteTo(w); err != nil {
			return err
		}
	}
	return nil
}

// targetWords are targets that may be written in any case. For a status field with such a name,
// write .status.ready, for example.
var targetWords = []string{string(kstatus.Current), "Ready", "deleting", "gone"}

// targetOf reads a target: the targets of package explore, or Current in both profiles of kstatus.
func targetOf(text string, start time.Time) (explore.Target, error) {
	if i := slices.IndexFunc(targetWords, func(w string) bool { return strings.EqualFold(w, text) }); i >= 0 {
		text = targetWords[i]
	}
	if text == string(kstatus.Current) {
		return func(s explore.State) bool { return s.Object() != nil && current(s.Object(), start.Add(s.Entered)) }, nil
	}
	return explore.ParseTarget(text)
}

func current(obj *unstructured.Unstructured, now time.Time) bool {
	for _, profile := range []*kstatus.Rules{kstatus.Standard(), kstatus.Extended()} {
		if profile.Compute(obj, now).Status != kstatus.Current {
			return false
		}
	}
	return true
}

// printTimesOf prints times, one on each line.
func printTimesOf(w io.Writer, t *explore.Times) {
	line := func(name string, value any) { fmt.Fprintf(w, "  %-8s %v\n", name, value) }
	line("reached", explore.FormatPercent(t.Reach))
	if t.Unknown > 0 {
		line("unknown", explore.FormatPercent(t.Unknown)+" leave what was explored")
	}
	if t.Reach == 0 {
		return
	}
	line("min", t.Min)
	line("mean", t.Mean.Round(time.Millisecond))
	for _, q := range []struct {
		name  string
		share float64
	}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}} {
		line(q.name, t.Quantile(q.share))
	}
	line("max", longest(t))
	if t.Samples > 0 {
		line("by", fmt.Sprintf("%d runs drawn; the bounds hold with a confidence of 99%%", t.Samples))
	} else {
		line("by", fmt.Sprintf("convolution on a grid of %s, right to within %s", t.Grid, cmp.Or(t.Error, 0)))
	}
	if t.TimeDependent {
		line("but", "a delay on the way depends on the time at which it begins: these are approximate")
	}
}

func longest(t *explore.Times) any {
	if t.Max < 0 {
		return "unbounded"
	}
	return t.Max
}
