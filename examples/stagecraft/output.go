package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/kstatus/wait"
)

// addOutput adds the flag --output. The first of the formats is the default.
func addOutput(c *cobra.Command, formats ...string) *string {
	return addChoice(c, "output", "o", "format of the result", formats...)
}

// addChoice adds a flag with one of some values. The first of them is the default.
func addChoice(c *cobra.Command, name, short, help string, values ...string) *string {
	choice := &choice{value: values[0], values: values}
	c.Flags().VarP(choice, name, short, help+": "+strings.Join(values, ", "))
	_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // fails for unknown flags only
	return &choice.value
}

// A choice is the value of a flag that has one of some values.
type choice struct {
	value  string
	values []string
}

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return "string" }

func (c *choice) Set(value string) error {
	if !slices.Contains(c.values, value) {
		return fmt.Errorf("want %s", strings.Join(c.values, ", "))
	}
	c.value = value
	return nil
}

// encode writes data as indented JSON, or as YAML.
func encode(w io.Writer, format string, data any) error {
	if format == "yaml" {
		text, err := yaml.Marshal(data)
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(data)
}

// newReporter returns a reporter of waits, which redraws on a terminal.
func newReporter(out io.Writer) *wait.Reporter {
	report := wait.NewReporter(out)
	report.All = true
	if os.Getenv("NO_COLOR") != "" {
		report.Terminal = false
	}
	return report
}

// programVersion is the version of the build, or of the module that go install has built.
func programVersion() string {
	if version != "" {
		return version
	}
	if build, ok := debug.ReadBuildInfo(); ok && build.Main.Version != "" {
		return build.Main.Version
	}
	return "(devel)"
}
