package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stagecraft-go/stagecraft/examples/stagecraft/internal/stages"
)

func lintCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "lint [FILE]...",
		Short: "Find faults in Stages, and what compiles but cannot be meant",
		Long: `Find faults in Stages, and what compiles but cannot be meant.

FILE is a file or a folder with Stages of kwok, or - for standard input. Every fault
is printed at once, with file, line and column.

Exit codes: 0 nothing found, 1 faults or findings, 2 no answer.`,
		Example: `  stagecraft lint stages/
  stagecraft lint -o json stages/ | jq '.[].rule'`,
	}
	in := addInput(c, false)
	output := addOutput(c, "text", "json", "yaml")
	c.RunE = func(c *cobra.Command, args []string) error {
		read, err := in.read(args, c.InOrStdin())
		if err != nil {
			return err
		}
		_, fault := in.compile(read)
		return printFindings(c.OutOrStdout(), *output, append(stages.Faults(fault), read.Lint()...))
	}
	return c
}

// printFindings prints findings. The error is the answer no if one of them is more than informational.
func printFindings(w io.Writer, output string, all []stages.Finding) error {
	var no error
	for _, f := range all {
		if !f.Informational {
			no = errNo
		}
		if output == "text" {
			fmt.Fprintln(w, f)
		}
	}
	if output == "text" {
		return no
	}
	if err := encode(w, output, all); err != nil {
		return err
	}
	return no
}
