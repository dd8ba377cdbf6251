package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/explore"
)

func explainCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "explain [FILE]...",
		Short: "Say which Stage is played on an object next and why, or why none is",
		Long: `Say which Stage is played on an object next and why, or why none is.

FILE has Stages, and can have the objects, too. An object that does not come from a
cluster is shown as a cluster would store it.`,
		Example: `  stagecraft explain --preset pod-general --object pod.yaml
  kubectl get pod web -o yaml | stagecraft explain stages/ --object -`,
	}
	o := addExploration(c, false)
	o.output = addOutput(c, "text", "json", "yaml")
	c.RunE = func(c *cobra.Command, args []string) error {
		in, err := o.read(args, c.InOrStdin())
		if err != nil {
			return err
		}
		set, err := o.compile(in)
		if err != nil {
			return err
		}
		e, err := o.options(in)
		if err != nil {
			return err
		}
		explanations, err := explainAll(c.Context(), set, in, e)
		if err != nil {
			return err
		}
		return printExplanations(c.OutOrStdout(), *o.output, explanations)
	}
	return c
}

// explainAll explains what may happen now. If no object has Stages, it explains that for each object.
func explainAll(ctx context.Context, set *stage.Set, in input, e explore.Options) (all []stage.Explanation, err error) {
	if len(in.objects)+len(in.others) == 0 {
		return nil, in.errNoObject()
	}
	if len(in.objects) == 0 {
		in.objects, in.others = in.others, nil
	}
	e.MaxStates, e.OtherObjects = 1, in.others
	graph, err := explore.Explore(ctx, set, e, in.objects...)
	if err != nil {
		return nil, err
	}
	for i, obj := range in.objects {
		if stored := graph.States[graph.Starts[i]].Object(); obj.GetUID() == "" && stored != nil {
			obj = stored
		}
		all = append(all, set.Explain(obj, e.Start))
	}
	return all, nil
}

// An explanation is what Explain says, as data.
type explanation struct {
	Object string             `json:"object"`
	Time   time.Time          `json:"time"`
	Stages []stageExplanation `json:"stages"`
}

type stageExplanation struct {
	Stage        string        `json:"stage"`
	Matches      bool          `json:"matches"`
	Requirements []requirement `json:"requirements"`
	Chance       float64       `json:"chance,omitempty"`
	Delay        string        `json:"delay,omitempty"`
}

type requirement struct {
	Path  string `json:"path"`
	Text  string `json:"text"`
	Holds bool   `json:"holds"`
	Error string `json:"error,omitempty"`
}

func printExplanations(w io.Writer, output string, all []stage.Explanation) error {
	data := []explanation{}
	for _, e := range all {
		if output == "text" {
			fmt.Fprint(w, e)
		}
		one := explanation{Object: e.Key.String(), Time: e.Time, Stages: []stageExplanation{}}
		for _, s := range e.Stages {
			one.Stages = append(one.Stages, explained(s))
		}
		data = append(data, one)
	}
	if output == "text" {
		return nil
	}
	return encode(w, output, data)
}

func explained(s stage.StageExplanation) stageExplanation {
	one := stageExplanation{Stage: s.Stage, Matches: s.Matches, Requirements: []requirement{}}
	for _, r := range s.Requirements {
		next := requirement{Path: r.Path, Text: r.Text, Holds: r.OK}
		if r.Err != nil {
			next.Error = r.Err.Error()
		}
		one.Requirements = append(one.Requirements, next)
	}
	if s.Matches {
		one.Chance, one.Delay = s.Candidate.Probability, explore.FormatDelay(s.Candidate.Delay)
	}
	return one
}
