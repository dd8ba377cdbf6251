package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"text/tabwriter"
)

// A growthLimit is how much a figure of the samples may grow. It fits a line to the samples. A
// slope counts only if it is three times its standard error.
type growthLimit struct {
	name  string
	of    func(sample) float64
	unit  float64
	share float64 // of the mean by which it may grow
	most  float64 // by which it may always grow
}

var growthLimits = []growthLimit{
	{"heap MiB", func(s sample) float64 { return s.heap }, 1 << 20, 0.05, 1 << 20},
	{"goroutines", func(s sample) float64 { return s.goroutines }, 1, 0.05, 2},
	{"RSS MiB", func(s sample) float64 { return s.rss }, 1 << 20, 0.05, 4 << 20},
	{"p99 ms", func(s sample) float64 { return s.p99.Seconds() }, 1e-3, 0.25, 0.02},
}

var errGrows = errors.New("the player does not stay as it was")

const minSamples = 6 // below this a line says nothing

// checkGrowth fits a line to each figure over the last two thirds of the samples.
func checkGrowth(w io.Writer, samples []sample) error {
	last := samples[len(samples)/3:]
	if len(last) < minSamples {
		return fmt.Errorf("%d samples are too few to tell: -duration must be at least %d times -every", len(samples), minSamples*3/2)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "\nfigure\tmean\trise over %v\tits error\t\n", last[len(last)-1].at.Sub(last[0].at).Round(1e9))
	var grows error
	for _, f := range growthLimits {
		l := fit(last, f.of)
		verdict := "flat"
		if l.rise > 3*l.err && l.rise > max(f.share*l.mean, f.most) {
			verdict, grows = "GROWS", errGrows
		}
		fmt.Fprintf(t, "%s\t%.2f\t%+.2f\t%.2f\t%s\n", f.name, l.mean/f.unit, l.rise/f.unit, l.err/f.unit, verdict)
	}
	return errors.Join(t.Flush(), grows)
}

// A line is a least-squares fit: its rise from the first sample to the last, and the standard error
// of the rise.
type line struct{ mean, rise, err float64 }

func fit(samples []sample, of func(sample) float64) line {
	n := float64(len(samples))
	x := func(i int) float64 { return samples[i].at.Sub(samples[0].at).Seconds() }
	var meanX, meanY float64
	for i, s := range samples {
		meanX += x(i) / n
		meanY += of(s) / n
	}
	var xx, xy, rest float64
	for i, s := range samples {
		xx += (x(i) - meanX) * (x(i) - meanX)
		xy += (x(i) - meanX) * (of(s) - meanY)
	}
	slope := xy / xx
	for i, s := range samples {
		d := of(s) - meanY - slope*(x(i)-meanX)
		rest += d * d
	}
	span := x(len(samples) - 1)
	return line{mean: meanY, rise: slope * span, err: math.Sqrt(rest/(n-2)/xx) * span}
}
