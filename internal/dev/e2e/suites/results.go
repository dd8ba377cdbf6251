package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/expected"
)

// An outcome is how the tests of a package ended on servers. It has no results for a server on
// which the tests did not run.
type outcome struct {
	pkg     string
	took    [2]time.Duration
	results [2]map[string]expected.Result
}

// A report is Ginkgo's of a suite.
type report struct {
	SpecReports []struct {
		ContainerHierarchyTexts           []string
		LeafNodeType, LeafNodeText, State string
		RunTime                           time.Duration
		Failure                           struct{ Message string }
	}
}

// goResult is a line about a test that is not in a suite of Ginkgo.
var goResult = regexp.MustCompile(`(?m)^ *--- (PASS|FAIL|SKIP): (\S+) \(([0-9.]+)s\)$`)

// readResults reads how the tests of a package ended, from their output, and from a report if the
// package has one. It leaves out tests that are marked as pending.
func readResults(pkg string, output []byte, file string) (map[string]expected.Result, error) {
	results := map[string]expected.Result{}
	for _, m := range goResult.FindAllSubmatch(output, -1) {
		name := string(m[2])
		if bytes.Contains(outputOf(output, name), []byte("Running Suite: ")) {
			continue
		}
		took, _ := time.ParseDuration(string(m[3]) + "s") // a number
		results[pkg+" "+name] = expected.Result{State: expected.State(strings.ToLower(string(m[1]))), Took: took, Message: "see the log"}
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return results, nil
	} else if err != nil {
		return nil, err
	}
	var reports []report
	if err := json.Unmarshal(text, &reports); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, r := range reports {
		r.addTo(results, pkg)
	}
	return results, nil
}

// outputOf returns the output of a test.
func outputOf(output []byte, test string) []byte {
	_, after, _ := bytes.Cut(output, []byte("=== RUN   "+test+"\n"))
	of, _, _ := bytes.Cut(after, []byte("=== RUN   "))
	return of
}

var states = map[string]expected.State{"passed": expected.Pass, "skipped": expected.Skip}

func (r report) addTo(results map[string]expected.Result, pkg string) {
	for _, s := range r.SpecReports {
		isTest := s.LeafNodeType == "It"
		if s.State == "pending" || !isTest && s.State != "failed" { // setup and clean-up of all tests count if they fail
			continue
		}
		if !isTest {
			s.LeafNodeText = s.LeafNodeType
		}
		name := strings.Join(strings.Fields(strings.Join(append([]string{pkg}, append(s.ContainerHierarchyTexts, s.LeafNodeText)...), " ")), " ")
		state, known := states[s.State]
		if !known {
			state = expected.Fail
		}
		for n, base := 2, name; ; n++ { // a second one of the same name
			if _, taken := results[name]; !taken {
				break
			}
			name = fmt.Sprintf("%s (%d)", base, n)
		}
		message := cmp.Or(strings.Join(strings.Fields(s.Failure.Message), " "), "no message")
		results[name] = expected.Result{State: state, Took: s.RunTime, Message: message}
	}
}

// compare compares an outcome with a list, or enters it there. A test that is not in the list is
// expected to pass.
func (o *outcome) compare(list *expected.Table, update bool) error {
	for _, results := range o.results {
		for name := range results {
			list.Add(name, expected.Pass)
		}
	}
	var errs []error
	for on, results := range o.results {
		if results == nil {
			continue
		}
		for _, name := range list.Names(o.pkg + " ") {
			if _, ran := results[name]; !ran {
				results[name] = expected.Result{State: expected.Fail, Message: "it did not run"}
			}
		}
		if update {
			list.Enter(expected.Column(on), results)
		}
		errs = append(errs, list.Compare(io.Discard, expected.Column(on), results))
	}
	return errors.Join(errs...)
}

// count returns how many tests of an outcome end in a way.
func (o *outcome) count(on expected.Column, state expected.State) (n int) {
	for _, r := range o.results[on] {
		if r.State == state {
			n++
		}
	}
	return n
}

func (o *outcome) summary(on expected.Column) string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped in %.1f s",
		o.count(on, expected.Pass), o.count(on, expected.Fail), o.count(on, expected.Skip), o.took[on].Seconds())
}

// both returns how many tests of an outcome pass on both servers.
func (o *outcome) both() (n int) {
	for name, r := range o.results[expected.Real] {
		if r.State == expected.Pass && o.results[expected.Memory][name].State == expected.Pass {
			n++
		}
	}
	return n
}

// printTable prints for each package, and in all, how many tests pass and how long they take on the
// two servers, if they have run on both.
func printTable(out io.Writer, all []*outcome) {
	if slices.ContainsFunc(all, func(o *outcome) bool { return o.results[expected.Real] == nil || o.results[expected.Memory] == nil }) {
		return
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "real\tmemory\t%\treal s\tmemory s\t package")
	passes, both, took := 0, 0, [2]time.Duration{}
	for _, o := range all {
		printRow(w, o.pkg, o.count(expected.Real, expected.Pass), o.both(), o.took)
		passes, both = passes+o.count(expected.Real, expected.Pass), both+o.both()
		took[0], took[1] = took[0]+o.took[0], took[1]+o.took[1]
	}
	printRow(w, "all", passes, both, took)
	_ = w.Flush()
}

// printRow prints how many tests pass on the real server, how many of these in memory, and how long
// all tests take.
func printRow(w io.Writer, name string, passes, both int, took [2]time.Duration) {
	share := 100 * float64(both) / max(1, float64(passes))
	fmt.Fprintf(w, "%d\t%d\t%.1f\t%.1f\t%.1f\t %s\n", passes, both, share, took[0].Seconds(), took[1].Seconds(), name)
}
