package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// options are the flags.
type options struct {
	files   []string // none: standard input
	profile string
	output  string
	explain bool
	noWait  bool
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
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: readiness [flags] [file ...]   (no file or -: standard input)")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.files = flags.Args()
	err = cmp.Or(oneOf("-profile", o.profile, profiles), oneOf("-o", o.output, printers))
	if err != nil {
		fmt.Fprintln(stderr, "readiness:", err)
	}
	return o, err
}

// oneOf returns an error unless a flag has one of the values.
func oneOf[V any](flag, value string, values map[string]V) error {
	if _, ok := values[value]; ok {
		return nil
	}
	return fmt.Errorf("%s %q: must be %s", flag, value, strings.Join(slices.Sorted(maps.Keys(values)), " or "))
}
