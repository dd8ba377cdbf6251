package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
)

// A clock sees how long a study takes.
type clock struct {
	began    time.Time
	virtual  time.Duration // of all runs
	steps    int
	progress progress
}

// String says how long it took, of real and of virtual time.
func (c *clock) String() string {
	real := time.Since(c.began)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return fmt.Sprintf("%s of virtual time in %.1f s: %.0f times as fast; %d MiB of memory",
		c.virtual.Round(time.Second), real.Seconds(), c.virtual.Seconds()/real.Seconds(), m.Sys>>20)
}

// A progress is a line that is written again and again. Its zero value writes nothing.
type progress struct {
	out  io.Writer
	last time.Time
	line int // letters that stand there
}

// newProgress returns a line on a terminal, and nothing anywhere else.
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

// end takes the line away.
func (p *progress) end() {
	if p.out != nil && p.line > 0 {
		fmt.Fprintf(p.out, "\r%s\r", strings.Repeat(" ", p.line))
		p.line = 0
	}
}
