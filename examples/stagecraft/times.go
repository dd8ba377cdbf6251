package main

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/explore"
)

// A timesTo is how long an object takes to a target, as data. Durations are texts of Go.
type timesTo struct {
	Object  string            `json:"object"`
	Target  string            `json:"target"`
	Reached float64           `json:"reached"`
	Unknown float64           `json:"unknown,omitempty"`
	Times   map[string]string `json:"times,omitempty"` // min, mean, p50, p90, p99, max
	Samples int               `json:"samples,omitempty"`
}

// shares are the quantiles that are printed.
var shares = []struct {
	name  string
	share float64
}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}}

// printTimes prints the time that each object takes to the target.
func printTimes(w io.Writer, output string, graph *explore.Graph, text string, start time.Time, o explore.TimeOptions) error {
	target, err := targetOf(text, start)
	if err != nil {
		return err
	}
	data := []timesTo{}
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
		data = append(data, timesOf(key, text, t))
	}
	if output == "text" {
		return nil
	}
	return encode(w, output, data)
}

func timesOf(object, target string, t *explore.Times) timesTo {
	all := timesTo{Object: object, Target: target, Reached: t.Reach, Unknown: t.Unknown, Samples: t.Samples}
	if t.Reach == 0 {
		return all
	}
	all.Times = map[string]string{"min": t.Min.String(), "mean": t.Mean.String(), "max": fmt.Sprint(longest(t))}
	for _, q := range shares {
		all.Times[q.name] = t.Quantile(q.share).String()
	}
	return all
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
	for _, q := range shares {
		line(q.name, t.Quantile(q.share))
	}
	line("max", longest(t))
	if t.Samples > 0 {
		line("by", fmt.Sprintf("%d runs drawn; the bounds hold with a confidence of 99%%", t.Samples))
	} else {
		line("by", fmt.Sprintf("convolution on a grid of %s, right to within %s", t.Grid, cmp.Or(t.Error, 0)))
	}
	if t.TimeDependent {
		line("but", "a delay on the way depends on the time at which it begins: these are approximate")
	}
}

func longest(t *explore.Times) any {
	if t.Max < 0 {
		return "unbounded"
	}
	return t.Max
}
