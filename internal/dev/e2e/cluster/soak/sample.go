package main

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/cluster/measure"
)

// A sample is the state of the player at one time.
type sample struct {
	recentStats
	at         time.Time
	heap       float64 // bytes in use after a collection
	goroutines float64
	rss        float64 // bytes
	cpu        time.Duration
}

const header = "time      pods/s  heap MiB  goroutines  RSS MiB  p50 ms  p99 ms  CPU s"

func (s sample) String() string {
	return fmt.Sprintf("%s %7.0f %9.2f %11.0f %8.1f %7d %7d %6.1f",
		s.at.Format(time.TimeOnly), s.rate, s.heap/(1<<20), s.goroutines, s.rss/(1<<20), s.p50.Milliseconds(), s.p99.Milliseconds(), s.cpu.Seconds())
}

// A monitor takes samples of a player.
type monitor struct {
	process *measure.Process
	pprof   string // address of net/http/pprof
}

var (
	heapInUse  = regexp.MustCompile(`(?m)^# HeapAlloc = (\d+)$`)
	goroutines = regexp.MustCompile(`^goroutine profile: total (\d+)`)
)

// sample collects garbage twice, because memory that a finalizer or a pool held is freed only by
// the second collection.
func (p monitor) sample(l recentStats) (sample, error) {
	s := sample{recentStats: l, at: time.Now()}
	u, err := p.process.Usage()
	if err != nil {
		return s, err
	}
	s.rss, s.cpu = float64(u.RSS), u.CPU
	if _, err := p.read("heap?gc=1&debug=1", heapInUse); err != nil {
		return s, err
	}
	if s.heap, err = p.read("heap?gc=1&debug=1", heapInUse); err != nil {
		return s, err
	}
	s.goroutines, err = p.read("goroutine?debug=1", goroutines)
	return s, err
}

// read returns a number in the text of a profile.
func (p monitor) read(profile string, number *regexp.Regexp) (float64, error) {
	r, err := http.Get("http://" + p.pprof + "/debug/pprof/" + profile)
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, err
	}
	m := number.FindSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("%s says no %s", profile, number)
	}
	return strconv.ParseFloat(string(m[1]), 64)
}
