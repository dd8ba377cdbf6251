package main

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/stagecraft-go/stagecraft/examples/stagecraft/internal/stages"
	"github.com/stagecraft-go/stagecraft/stage/explore"
)

// printTimes prints the time that each object takes to the target.
func printTimes(w io.Writer, output string, graph *explore.Graph, text string, start time.Time, o explore.TimeOptions) error {
	target, err := stages.TargetOf(text, start)
	if err != nil {
		return usage("--time-to %s: %w", text, err)
	}
	data := []stages.Times{}
	for _, first := range graph.Starts {
		o.From = first
		t, err := graph.TimeTo(target, o)
		if err != nil {
			return err
		}
		key := graph.States[first].Key.String()
		if output == "text" {
			fmt.Fprintf(w, "%s to %s\n", key, text)
			printTimesOf(w, t)
		}
		data = append(data, stages.TimesOf(key, text, t))
	}
	if output == "text" {
		return nil
	}
	return encode(w, output, data)
}

// printTimesOf prints times, one on each line.
func printTimesOf(w io.Writer, t *explore.Times) {
	line := func(name string, value any) { fmt.Fprintf(w, "  %-8s %v\n", name, value) }
	line("reached", explore.FormatPercent(t.Reach))
	if t.Unknown > 0 {
		line("unknown", explore.FormatPercent(t.Unknown)+" leave what was explored")
	}
	if t.Reach == 0 {
		return
	}
	line("min", t.Min)
	line("mean", t.Mean.Round(time.Millisecond))
	for _, q := range stages.Quantiles {
		line(q.Name, t.Quantile(q.Share))
	}
	line("max", stages.Longest(t))
	if t.Samples > 0 {
		line("by", fmt.Sprintf("%d runs drawn; the bounds hold with a confidence of 99%%", t.Samples))
	} else {
		line("by", fmt.Sprintf("convolution on a grid of %s, right to within %s", t.Grid, cmp.Or(t.Error, 0)))
	}
	if t.TimeDependent {
		line("but", "a delay on the way depends on the time at which it begins: these are approximate")
	}
}
