package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/lab/progress"
)

// A studyClock measures how long a study takes.
type studyClock struct {
	began    time.Time
	virtual  time.Duration // of all runs together
	steps    int
	runs     int       // of a sweep
	run      *lab      // the current run
	since    time.Time // when it began
	progress *progress.Line
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
	if now := time.Now(); c.progress.Due(now) {
		c.progress.Show(now, c.line(l, now))
	}
}

// line describes how far a run is, how fast it is, and how long it will take.
func (c *studyClock) line(l *lab, now time.Time) string {
	all, real := max(l.goal.count, 1), now.Sub(c.since)
	left := time.Duration(float64(real) * float64(all-l.reached) / float64(max(l.reached, 1)))
	p := l.Progress()
	return fmt.Sprintf("%s %s %s, %d objects, %.0f events/s, %.0f times real time, %s left",
		l.name, progress.Bar(l.reached, l.goal.count), l.goal.state,
		p.Objects, float64(p.Events)/real.Seconds(), p.Now.Sub(l.start).Seconds()/real.Seconds(), left.Round(time.Second))
}

// String describes how long the study took, in real and in virtual time.
func (c *studyClock) String() string {
	real := time.Since(c.began)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if c.runs > 0 || c.steps == 0 {
		return fmt.Sprintf("%d runs in %.1f s; %d MiB of memory", c.runs, real.Seconds(), m.Sys>>20)
	}
	return fmt.Sprintf("%s of virtual time in %.1f s: %.0f times as fast; %d MiB of memory",
		c.virtual.Round(time.Second), real.Seconds(), c.virtual.Seconds()/real.Seconds(), m.Sys>>20)
}
