package hunting

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

// Options of [Test] and [Search]. The zero value is the default.
type Options struct {
	// Runs is how many runs with a fault are made at most. Default 100; with -short, 20.
	Runs int
	// Patience is the virtual time that a run has to come to rest. Default 5m.
	Patience time.Duration
	// Lab are the options of the labs. Start and Sync are set.
	Lab labtest.Options
	// Ignore are names of fields, at any depth, that are not compared.
	Ignore []string
	// All makes all runs and reports a failure for each check and kind of fault. Default: the search ends with the
	// first failure.
	All bool
}

// A Scenario is what runs have in common.
type Scenario struct {
	// Start runs the manager until the context is done. It is called again after each crash.
	Start func(context.Context, *rest.Config) error
	// Objects are applied before the manager starts, and deleted at the end, the last first.
	Objects []any
	// Steps are what users do, in order.
	Steps []Step
}

// A Step is what users do at a time after the start.
type Step struct {
	At time.Duration
	Do func(*labtest.Lab)
}

// What a fault does to a write.
const (
	CrashBefore = "crash-before" // the manager dies and the write is not done; it starts again after 1s
	CrashAfter  = "crash-after"  // the write is done and the manager dies before the answer
	Lose        = "lose"         // the write is done and the connection breaks before the answer
	Refuse      = "refuse"       // the write is not done and the answer is an error
	Lag         = "lag"          // the write is done, and what happens from then on is seen later
)

// A Fault strikes at a write.
type Fault struct {
	Do   string
	At   Request
	Code int // of Refuse: 409, 429, 500 or 504
	// Of is the resource whose watches Lag holds, such as "pods"; "" holds all watches.
	Of string
	// For is how long Lag holds watches. Default 30s.
	For time.Duration
}

// String prints "refuse POST /api/v1/namespaces/default/configmaps #1 code=409".
func (f Fault) String() string {
	s := f.Do + " " + f.At.String()
	if f.Code > 0 {
		s += fmt.Sprintf(" code=%d", f.Code)
	}
	if f.Of != "" {
		s += " of=" + f.Of
	}
	if f.For > 0 {
		s += " for=" + f.For.String()
	}
	return s
}

// A Request is one that the manager sends. Leases and Events are not counted.
type Request struct {
	Method, Path string
	Nth          int // of those alike, from 1
}

// String prints "POST /api/v1/namespaces/default/configmaps #1".
func (r Request) String() string { return fmt.Sprintf("%s %s #%d", r.Method, r.Path, r.Nth) }

// A Failure is a run that ends otherwise than its twin.
type Failure struct {
	Fault Fault
	Check string   // the same end, nothing is made twice, a restart changes nothing, nothing is left
	Text  []string // where it differs
	Log   []string // requests and faults
	Run   int      // the number of the run that found it, from 1
	Again int      // in how many of three further runs it came again
}

// String prints the failure.
func (f Failure) String() string {
	return fmt.Sprintf("%s\n%s: %s\nfound in run %d; came again in %d of 3 runs\n%s", f.Fault, f.Check, strings.Join(f.Text, "\n  "), f.Run, f.Again, strings.Join(f.Log, "\n"))
}

// A Report is what a search has found.
type Report struct {
	Failures []Failure // with Options.All one for each check and kind of fault, else at most one
	Runs     int
	Missed   []Fault // they struck nothing
}

// Test fails a test if a fault breaks the manager.
func Test(t *testing.T, o Options, s Scenario) {
	t.Helper()
	for _, f := range Search(t, o, s).Failures {
		t.Errorf("%s", f)
	}
}

// Search makes a run without faults, and then one for each write and fault, until one fails. The
// test fails if a run without faults fails, if two of them end differently, or if nothing is tried: the
// manager writes nothing without faults, or no fault strikes.
func Search(t *testing.T, o Options, s Scenario) *Report {
	t.Helper()
	o.Patience = cmp.Or(o.Patience, 5*time.Minute)
	if o.Runs == 0 && testing.Short() {
		o.Runs = 20
	}
	o.Runs = cmp.Or(o.Runs, 100)
	twin, report := play(t, o, s, nil), &Report{}
	if f := failure(twin, play(t, o, s, nil)); f != nil {
		t.Fatalf("hunting: two runs without faults differ:\n%s", f)
	}
	if len(twin.writes) == 0 {
		t.Fatalf("hunting: nothing is tried: the manager wrote nothing in the run without faults (Leases and Events are not counted)\n%s", strings.Join(twin.log, "\n"))
	}
	for _, f := range plans(twin, o.Runs) {
		out := play(t, o, s, &f)
		report.Runs++
		if !out.struck {
			report.Missed = append(report.Missed, f)
		}
		found := failure(twin, out)
		if found == nil {
			continue
		}
		if found.Fault = f; report.has(found) {
			continue
		}
		found.Run = report.Runs
		for range 3 {
			if failure(twin, play(t, o, s, &f)) != nil {
				found.Again++
			}
		}
		report.Failures = append(report.Failures, *found)
		if !o.All {
			return report
		}
	}
	if len(report.Missed) == report.Runs {
		t.Fatalf("hunting: nothing is tried: none of %d faults struck", report.Runs)
	}
	return report
}

// has reports whether a failure of the check by the same kind of fault is known.
func (r *Report) has(f *Failure) bool {
	return slices.ContainsFunc(r.Failures, func(g Failure) bool {
		return g.Check == f.Check && g.Fault.Do == f.Fault.Do && g.Fault.Of == f.Fault.Of
	})
}

// longLag is longer than controllers expect a watch to be late: those of Kubernetes wait for five minutes until
// they take what they have made for lost.
const longLag = 20 * time.Minute

// plans are the faults of all writes, the ones most apart first.
func plans(twin *outcome, limit int) (faults []Fault) {
	kinds := []Fault{{Do: CrashAfter}, {Do: Lag}, {Do: Lose}}
	for _, resource := range slices.Sorted(slices.Values(twin.watched)) { // informers start in any order
		kinds = append(kinds, Fault{Do: Lag, Of: resource, For: longLag})
	}
	kinds = append(kinds, Fault{Do: CrashBefore}, Fault{Do: Refuse, Code: 409}, Fault{Do: Refuse, Code: 500}, Fault{Do: Refuse, Code: 429}, Fault{Do: Refuse, Code: 504})
	for _, f := range kinds {
		for _, at := range twin.writes {
			f.At = at
			faults = append(faults, f)
		}
	}
	return faults[:min(limit, len(faults))]
}

// failure compares a run with its twin.
func failure(twin, here *outcome) *Failure {
	if lines := twice(twin, here); len(lines) > 0 {
		return &Failure{Check: "nothing is made twice", Text: lines, Log: here.log}
	}
	for _, c := range []struct {
		check string
		a, b  hunt.State
	}{
		{"the same end", twin.end, here.end},
		{"a restart changes nothing", here.end, here.restarted},
		{"nothing is left", twin.left, here.left},
	} {
		if lines := c.a.Differences(c.b); len(lines) > 0 {
			return &Failure{Check: c.check, Text: lines, Log: here.log}
		}
	}
	return nil
}

// precious are the resources of which the manager must not make or delete more objects than its twin.
var precious = []string{"jobs", "persistentvolumeclaims", "pods"}

// twice says which precious resources were made or deleted more often than by the twin.
func twice(twin, here *outcome) (lines []string) {
	for _, resource := range precious {
		for _, method := range []string{http.MethodPost, http.MethodDelete} {
			made := write{method, resource}
			if here.done[made] > twin.done[made] {
				lines = append(lines, fmt.Sprintf("%s %s: %d times, the twin %d", method, resource, here.done[made], twin.done[made]))
			}
		}
	}
	return lines
}
