package main

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// options are the flags.
type options struct {
	files   []string // none: standard input
	profile string
	output  string
	explain bool
}

var profiles = map[string]*kstatus.Rules{"standard": kstatus.Standard(), "extended": kstatus.Extended()}

// parse reads the flags. On an error it has told the user.
func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("readiness", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.profile, "profile", "standard", "`standard`, as upstream, or extended, which is right more often")
	flags.StringVar(&o.output, "o", "table", "print a `table` or json")
	flags.BoolVar(&o.explain, "explain", false, "print which rules were tried, and what they saw")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: readiness [flags] [file ...]   (no file or -: standard input)")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.files = flags.Args()
	if profiles[o.profile] == nil || printers[o.output] == nil {
		flags.Usage()
		return o, errors.New("usage")
	}
	return o, nil
}
