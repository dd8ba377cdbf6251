package main

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/stagecraft-go/stagecraft/examples/stagecraft/internal/stages"
	"github.com/stagecraft-go/stagecraft/stage/explore"
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

// options returns the options for package explore.
func (o *exploration) options(in stages.Input) (explore.Options, error) {
	e := in.Options()
	e.MaxStates = o.states
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
	return e, nil
}

// graph explores the lives of the objects of the files.
func (o *exploration) graph(c *cobra.Command, in stages.Input) (*explore.Graph, explore.Options, error) {
	set, err := o.compile(in)
	if err != nil {
		return nil, explore.Options{}, err
	}
	e, err := o.options(in)
	if err != nil {
		return nil, e, err
	}
	if len(in.Objects) == 0 {
		return nil, e, errNoObject(in)
	}
	graph, err := explore.Explore(c.Context(), set, e, in.Objects...)
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
			return encode(c.OutOrStdout(), *o.output, stages.LivesOf(graph))
		}
		_, err = io.WriteString(c.OutOrStdout(), graph.String())
		return err
	}
	return c
}
