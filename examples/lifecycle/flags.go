package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// options are the flags.
type options struct {
	stages, presets []string
	objects         []string
	output          string
	timeTo          string
	explain, lint   bool
	delete          bool
	selectors       bool
	extensions      bool
	states, samples int
	seed            uint64
	now             time.Time
}

// only reports whether name is the only flag that asks for output.
func (o options) only(name string) bool {
	asked := map[string]bool{"o": o.output != "", "explain": o.explain, "lint": o.lint, "time-to": o.timeTo != ""}
	delete(asked, name)
	for _, is := range asked {
		if is {
			return false
		}
	}
	return name == "explain" && o.explain || name == "lint" && o.lint
}

// parse reads the flags. If it returns an error it has already printed it.
func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("lifecycle", flag.ContinueOnError)
	flags.SetOutput(stderr)
	add := func(list *[]string) func(string) error {
		return func(s string) error { *list = append(*list, s); return nil }
	}
	flags.Func("stages", "read Stages, and objects beside them, from this `file` or folder; may be repeated", add(&o.stages))
	flags.Func("preset", "play the Stages of this `preset`; may be repeated: "+strings.Join(presetNames(), ", "), add(&o.presets))
	flags.Func("object", "read the objects from this `file`; may be repeated", add(&o.objects))
	flags.StringVar(&o.output, "o", "", "draw to this `file`: .svg, .mmd (Mermaid) or .dot (Graphviz)")
	flags.StringVar(&o.timeTo, "time-to", "",
		"tell how long Stages take to a `target`: Current (kstatus), Ready or another condition, phase=Succeeded or another field, deleting, gone")
	flags.BoolVar(&o.explain, "explain", false, "tell why which Stage is played now, or none")
	flags.BoolVar(&o.lint, "lint", false, "tell what compiles but cannot be meant")
	flags.BoolVar(&o.delete, "delete", false, "a user may delete the object, in any state")
	flags.BoolVar(&o.selectors, "selectors", false, "write the selectors of the Stages beside the arrows of -o")
	flags.BoolVar(&o.extensions, "extensions", false, "allow the extensions of EXTENSIONS.md, which kwok does not have")
	flags.IntVar(&o.states, "states", 0, "follow at most `n` states (default 10,000)")
	flags.IntVar(&o.samples, "samples", 0, "draw `n` runs for -time-to, in place of exact times")
	flags.Uint64Var(&o.seed, "seed", 1, "draw them from this `number`")
	flags.Func("now", "look at the objects at this `time`, such as 2006-01-02T15:04:05Z (default: the latest that they tell, or else this one)",
		func(s string) (err error) { o.now, err = time.Parse(time.RFC3339, s); return err })
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if err := o.check(flags.Args()); err != nil {
		fmt.Fprintln(stderr, "lifecycle:", err)
		return o, err
	}
	return o, nil
}

func (o options) check(rest []string) error {
	var errs []error
	fault := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	fault(len(rest) > 0, "unexpected arguments %q", rest)
	fault(len(o.stages)+len(o.presets) == 0, "name the Stages by -stages or -preset")
	fault(o.output != "" && formats[filepath.Ext(o.output)] == nil, "-o %s: want a name that ends in .svg, .mmd or .dot", o.output)
	fault(o.states < 0 || o.samples < 0, "-states and -samples are not negative")
	for _, name := range o.presets {
		fault(!slices.Contains(presetNames(), name), "-preset %s: want one of %s", name, strings.Join(presetNames(), ", "))
	}
	return errors.Join(errs...)
}
