package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
)

// A studyClock measures how long a study takes.
type studyClock struct {
	began    time.Time
	virtual  time.Duration // of all runs together
	steps    int
	run      *lab      // the current run
	since    time.Time // when it began
	progress progress
}

// countStep counts a step of a run, and now and then shows the progress of the run.
func (c *studyClock) countStep(l *lab, d time.Duration) {
	c.virtual += d
	c.steps++
	if c.run != l {
		c.run, c.since = l, time.Now()
	}
	if c.steps%64 != 0 {
		return // to ask for the time takes time
	}
	if now := time.Now(); c.progress.due(now) {
		c.progress.show(now, c.line(l, now))
	}
}

// line describes how far a run is, how fast it is, and how long it will take.
func (c *studyClock) line(l *lab, now time.Time) string {
	const width = 24
	all, real := max(l.goal.count, 1), now.Sub(c.since)
	filled := width * l.reached / all
	left := time.Duration(float64(real) * float64(all-l.reached) / float64(max(l.reached, 1)))
	p := l.Progress()
	return fmt.Sprintf("%s [%s%s] %d/%d %s, %d objects, %.0f events/s, %.0f times real time, %s left",
		l.name, strings.Repeat("=", filled), strings.Repeat(" ", width-filled), l.reached, l.goal.count, l.goal.state,
		p.Objects, float64(p.Events)/real.Seconds(), p.Now.Sub(l.start).Seconds()/real.Seconds(), left.Round(time.Second))
}

// String describes how long the study took, in real and in virtual time.
func (c *studyClock) String() string {
	real := time.Since(c.began)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return fmt.Sprintf("%s of virtual time in %.1f s: %.0f times as fast; %d MiB of memory",
		c.virtual.Round(time.Second), real.Seconds(), c.virtual.Seconds()/real.Seconds(), m.Sys>>20)
}

// A progress is a line on the terminal that is overwritten repeatedly. The zero value writes
// nothing.
type progress struct {
	out  io.Writer
	last time.Time
	line int // width of the current text
}

// newProgress returns a progress that writes if w is a terminal.
func newProgress(w io.Writer) progress {
	f, ok := w.(*os.File)
	if !ok {
		return progress{}
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return progress{}
	}
	return progress{out: w}
}

// refresh is how often the line is written.
const refresh = 100 * time.Millisecond

// due reports whether it is time to write the line.
func (p *progress) due(now time.Time) bool {
	return p.out != nil && now.Sub(p.last) >= refresh
}

func (p *progress) show(now time.Time, text string) {
	p.last = now
	fmt.Fprintf(p.out, "\r%s%s", text, strings.Repeat(" ", max(0, p.line-len(text))))
	p.line = len(text)
}

// end clears the line.
func (p *progress) end() {
	if p.out != nil && p.line > 0 {
		fmt.Fprintf(p.out, "\r%s\r", strings.Repeat(" ", p.line))
		p.line = 0
	}
}
