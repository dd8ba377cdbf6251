package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// options are the flags.
type options struct {
	files   []string // none: standard input
	profile string
	output  string
	explain bool
	noWait  bool
	wait    bool
	audit   bool
	basis   string
	timeout time.Duration
}

// bases are the values of -basis.
var bases = map[string]kstatus.Basis{
	"any": 0, "words": kstatus.BasisWords, "convention": kstatus.BasisConvention, "kind": kstatus.BasisKind,
}

var profiles = map[string]*kstatus.Rules{"standard": kstatus.Standard(), "extended": kstatus.Extended()}

// parse reads the flags. It prints an error before it returns it.
func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("readiness", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.profile, "profile", "extended", "`extended`, which is right more often, or standard, as upstream")
	flags.StringVar(&o.output, "o", "table", "print a `table` or json")
	flags.BoolVar(&o.explain, "explain", false, "print which rules were tried, and what they saw")
	flags.BoolVar(&o.noWait, "honor-no-wait", false, "objects with an annotation that says not to wait for them are ready")
	flags.BoolVar(&o.audit, "audit", false, "say for each CustomResourceDefinition in the input what tools see of the other objects of its kind, as Markdown")
	flags.BoolVar(&o.wait, "wait", false, "wait until the objects of the files are ready in the output of kubectl get --watch -o json, on standard input")
	flags.StringVar(&o.basis, "basis", "any", "with -wait: what Current must rest on, `any`, words, convention or kind")
	flags.DurationVar(&o.timeout, "timeout", 5*time.Minute, "with -wait: how long")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: readiness [flags] [file ...]   (no file or -: standard input)")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.files = flags.Args()
	err = cmp.Or(oneOf("-profile", o.profile, profiles), oneOf("-o", o.output, printers), oneOf("-basis", o.basis, bases), o.waits())
	if err != nil {
		fmt.Fprintln(stderr, "readiness:", err)
	}
	return o, err
}

// waits returns an error if -wait has nothing to wait for.
func (o options) waits() error {
	if o.wait && len(o.files) == 0 {
		return errors.New("-wait: name the files of the objects to wait for")
	}
	return nil
}

// oneOf returns an error unless a flag has one of the values.
func oneOf[V any](flag, value string, values map[string]V) error {
	if _, ok := values[value]; ok {
		return nil
	}
	return fmt.Errorf("%s %q: must be %s", flag, value, strings.Join(slices.Sorted(maps.Keys(values)), " or "))
}
