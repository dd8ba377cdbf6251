package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/stagecraft-go/stagecraft/examples/stagecraft/internal/stages"
	"github.com/stagecraft-go/stagecraft/stage/diagram"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
)

// drawings are the formats of diagram.
var drawings = map[string]func(*diagram.Diagram) []byte{
	"svg":     (*diagram.Diagram).SVG,
	"mermaid": func(d *diagram.Diagram) []byte { return []byte(d.Mermaid()) },
	"dot":     func(d *diagram.Diagram) []byte { return []byte(d.DOT()) },
}

// formatOf are the formats by the end of a file name.
var formatOf = map[string]string{".svg": "svg", ".mmd": "mermaid", ".dot": "dot"}

// maxBoxes is the largest number of boxes in an SVG; Graphviz is better for more.
const maxBoxes = 500

func diagramCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "diagram [FILE]...",
		Short: "Draw Stages, or every life of an object, as SVG, Mermaid or Graphviz",
		Long: `Draw Stages, or every life of an object, as SVG, Mermaid or Graphviz.

FILE has Stages, and can have the objects, too. Without an object the Stages
themselves are drawn. The picture goes to standard output, or to --out.`,
		Example: `  stagecraft diagram --preset pod-general --object pod.yaml --out life.svg
  stagecraft diagram stages/ -o mermaid`,
	}
	o := addExploration(c, true)
	var file string
	var selectors bool
	c.Flags().StringVar(&file, "out", "", "draw to this `file`; its end, .svg, .mmd or .dot, is the format")
	c.Flags().BoolVar(&selectors, "selectors", false, "write the selectors of the Stages next to the arrows")
	o.output = addChoice(c, "output", "o", "format", "mermaid", "svg", "dot")
	c.RunE = func(c *cobra.Command, args []string) error {
		format := *o.output
		if file != "" {
			if format = formatOf[filepath.Ext(file)]; format == "" {
				return usage("--out %s: want a name that ends in .svg, .mmd or .dot", file)
			}
		}
		in, err := o.read(args, c.InOrStdin())
		if err != nil {
			return err
		}
		d, err := o.diagram(c, in, selectors)
		if err != nil {
			return err
		}
		if format == "svg" && len(d.Boxes) > maxBoxes {
			return fmt.Errorf("%d states are too many for a picture; use -o dot, or --states", len(d.Boxes))
		}
		return writeOut(c, file, drawings[format](d))
	}
	return c
}

// diagram draws the lives of the objects, or the Stages without an object.
func (o *exploration) diagram(c *cobra.Command, in stages.Input, selectors bool) (*diagram.Diagram, error) {
	if len(in.Objects) == 0 {
		_, err := o.compile(in)
		return diagram.FromStages(in.Stages()), err
	}
	graph, _, err := o.graph(c, in)
	if err != nil {
		return nil, err
	}
	return diagram.FromGraph(graph, diagram.Options{Stages: in.Stages(), Selectors: selectors}), nil
}

// writeOut writes a result to a file, as a whole or not at all, or to standard output.
func writeOut(c *cobra.Command, file string, data []byte) error {
	write := func(w io.Writer) error { _, err := w.Write(data); return err }
	if file == "" {
		return write(c.OutOrStdout())
	}
	return record.WriteFile(file, write)
}
