package main

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/stage/explore"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// An exploration is the flags of explain, explore and diagram.
type exploration struct {
	*inputFlags
	output *string
	delete bool
	states int
	now    string
}

// addExploration adds the flags that say how lives are explored.
func addExploration(c *cobra.Command, lives bool) *exploration {
	o := &exploration{inputFlags: addInput(c, true)}
	c.Flags().StringVar(&o.now, "now", "", "look at the objects at this `time`, such as 2006-01-02T15:04:05Z (default: the latest that they tell, or else this one)")
	if lives {
		c.Flags().BoolVar(&o.delete, "delete", false, "a user may delete the object, in any state")
		c.Flags().IntVar(&o.states, "states", 0, "follow at most `n` states (default 10,000)")
	}
	return o
}

// options returns the options for package explore. Unknown kinds are assumed to be namespaced, with a
// status.
func (o *exploration) options(in input) (explore.Options, error) {
	e := explore.Options{MaxStates: o.states, OtherObjects: in.others, Start: in.latestTime()}
	if o.states < 0 {
		return e, usage("--states %d: want at least 0", o.states)
	}
	if o.now != "" {
		now, err := time.Parse(time.RFC3339, o.now)
		if err != nil {
			return e, usage("--now %s: want a time such as 2006-01-02T15:04:05Z", o.now)
		}
		e.Start = now
	}
	if o.delete {
		e.Actions = []explore.Action{explore.Delete()}
	}
	for _, kind := range in.kinds() {
		e.Kinds = append(e.Kinds, memory.Kind{GroupVersionKind: kind, Status: true})
	}
	return e, nil
}

// graph explores the lives of the objects of the files.
func (o *exploration) graph(c *cobra.Command, in input) (*explore.Graph, explore.Options, error) {
	set, err := o.compile(in)
	if err != nil {
		return nil, explore.Options{}, err
	}
	e, err := o.options(in)
	if err != nil {
		return nil, e, err
	}
	if len(in.objects) == 0 {
		return nil, e, in.errNoObject()
	}
	graph, err := explore.Explore(c.Context(), set, e, in.objects...)
	return graph, e, err
}

func exploreCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "explore [FILE]...",
		Short: "Show every life that an object can have, or how long it takes to a state",
		Long: `Show every life that an object can have, or how long it takes to a state.

FILE has Stages, and can have the objects, too. --time-to takes Current (kstatus),
Ready or another condition, phase=Succeeded or another field, deleting, or gone.`,
		Example: `  stagecraft explore --preset pod-general --object pod.yaml
  stagecraft explore stages.yaml --object pod.yaml --time-to Ready`,
	}
	o := addExploration(c, true)
	var target string
	var times explore.TimeOptions
	c.Flags().StringVar(&target, "time-to", "", "print how long it takes to this `target`, and how likely it is")
	c.Flags().IntVar(&times.Samples, "samples", 0, "draw `n` runs for --time-to, in place of exact times")
	c.Flags().Uint64Var(&times.Seed, "seed", 1, "draw them from this `number`")
	o.output = addOutput(c, "text", "json", "yaml")
	c.RunE = func(c *cobra.Command, args []string) error {
		if times.Samples < 0 {
			return usage("--samples %d: want at least 0", times.Samples)
		}
		in, err := o.read(args, c.InOrStdin())
		if err != nil {
			return err
		}
		graph, e, err := o.graph(c, in)
		switch {
		case err != nil:
			return err
		case target != "":
			return printTimes(c.OutOrStdout(), *o.output, graph, target, e.Start, times)
		case *o.output != "text":
			return encode(c.OutOrStdout(), *o.output, livesOf(graph))
		}
		_, err = io.WriteString(c.OutOrStdout(), graph.String())
		return err
	}
	return c
}

// lives are the states and transitions of a graph as data.
type lives struct {
	States      []lifeState      `json:"states"`
	Transitions []lifeTransition `json:"transitions"`
	Findings    []string         `json:"findings,omitempty"`
}

type lifeState struct {
	ID     int            `json:"id"`
	Object string         `json:"object"`
	Label  string         `json:"label"`
	Value  map[string]any `json:"value,omitempty"` // nil: the object is gone
}

type lifeTransition struct {
	From   int     `json:"from"`
	To     int     `json:"to"`
	Stage  string  `json:"stage,omitempty"`
	Action string  `json:"action,omitempty"`
	Chance float64 `json:"chance,omitempty"`
	Delay  string  `json:"delay,omitempty"`
	Error  string  `json:"error,omitempty"`
}

func livesOf(g *explore.Graph) lives {
	l := lives{Findings: g.Findings()}
	for _, s := range g.States {
		state := lifeState{ID: s.ID, Object: s.Key.String(), Label: s.Label}
		if obj := s.Object(); obj != nil {
			state.Value = obj.Object
		}
		l.States = append(l.States, state)
	}
	for _, t := range g.Transitions {
		next := lifeTransition{From: t.From, To: t.To, Stage: t.Stage, Action: t.Action, Chance: t.Chance}
		if t.Stage != "" {
			next.Delay = explore.FormatDelay(t.Delay)
		}
		if t.Err != nil {
			next.Error = t.Err.Error()
		}
		l.Transitions = append(l.Transitions, next)
	}
	return l
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
		return func(s explore.State) bool { return s.Object() != nil && isCurrent(s.Object(), start.Add(s.Entered)) }, nil
	}
	target, err := explore.ParseTarget(text)
	if err != nil {
		return nil, usage("--time-to %s: %w", text, err)
	}
	return target, nil
}

func isCurrent(obj *unstructured.Unstructured, now time.Time) bool {
	for _, profile := range profiles {
		if profile.Compute(obj, now).Status != kstatus.Current {
			return false
		}
	}
	return true
}
