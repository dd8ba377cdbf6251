package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lint"
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
		var faults stage.Errors
		errors.As(fault, &faults)
		return printFindings(c.OutOrStdout(), *output, findingsOf(faults, lint.Check(read.sources...)))
	}
	return c
}

// A finding is a fault or a finding of lint as data. Rule is "fault" for what does not compile.
type finding struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Stage   string `json:"stage,omitempty"`
	Path    string `json:"path,omitempty"`
	Rule    string `json:"rule"`
	Message string `json:"message"`
	Advice  string `json:"advice,omitempty"`
	// Informational findings do not make lint fail.
	Informational bool `json:"informational,omitempty"`

	text string
}

func findingsOf(faults stage.Errors, findings []lint.Finding) []finding {
	all := []finding{}
	for _, f := range faults {
		all = append(all, finding{File: f.Position.File, Line: f.Position.Line, Column: f.Position.Column, Stage: f.Stage, Path: f.Path,
			Rule: "fault", Message: f.Err.Error(), Informational: f.Warning, text: f.Error()})
	}
	for _, f := range findings {
		all = append(all, finding{File: f.Position.File, Line: f.Position.Line, Column: f.Position.Column, Stage: f.Stage, Path: f.Path,
			Rule: string(f.Rule), Message: f.Message, Advice: f.Advice, Informational: f.Rule.Informational(), text: f.String()})
	}
	return all
}

// printFindings prints findings. The error is the answer no if one of them is more than informational.
func printFindings(w io.Writer, output string, all []finding) error {
	var no error
	for _, f := range all {
		if !f.Informational {
			no = errNo
		}
		if output == "text" {
			fmt.Fprintln(w, f.text)
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
