package main

import (
	"errors"
	"flag"
	"io"
	"time"
)

// options are the flags.
type options struct {
	seed   uint64
	jobs   int
	stages string
	speed  float64
	length time.Duration

	extensions bool
}

// parse reads the flags. If it returns an error it has already printed it.
func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Uint64Var(&o.seed, "seed", 1, "decides delays and names")
	flags.IntVar(&o.jobs, "jobs", 1, "how many Jobs to submit, a fifth of a second apart")
	flags.StringVar(&o.stages, "stages", "", "play the Stages of this `file` or folder")
	flags.BoolVar(&o.extensions, "extensions", false, "allow the extensions of EXTENSIONS.md, which kwok does not have")
	flags.Float64Var(&o.speed, "speed", 0, "1 is real time, 10 is ten times faster, 0 as fast as possible")
	flags.DurationVar(&o.length, "for", time.Hour, "end after this much virtual time")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.jobs < 0 || !(o.speed >= 0) || flags.NArg() > 0 {
		flags.Usage()
		return o, errors.New("usage")
	}
	return o, nil
}
