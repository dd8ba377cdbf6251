package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stagecraft-go/stagecraft/examples/stagecraft/internal/stages"
	"github.com/stagecraft-go/stagecraft/stage"
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
		if len(in.Objects)+len(in.Others) == 0 {
			return errNoObject(in)
		}
		explanations, err := in.Explain(c.Context(), set, e)
		if err != nil {
			return err
		}
		return printExplanations(c.OutOrStdout(), *o.output, explanations)
	}
	return c
}

func printExplanations(w io.Writer, output string, all []stage.Explanation) error {
	data := []stages.Explanation{}
	for _, e := range all {
		if output == "text" {
			fmt.Fprint(w, e)
		}
		data = append(data, stages.Explained(e))
	}
	if output == "text" {
		return nil
	}
	return encode(w, output, data)
}
