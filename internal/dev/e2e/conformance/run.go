package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/expected"
	"github.com/stagecraft-go/stagecraft/internal/files"
)

// list returns the names of the conformance tests of a special interest group.
func list(ctx context.Context, program, sig string) (names []string, err error) {
	found, err := dryRun(ctx, program, fmt.Sprintf("sig-%s && Conformance && !(Serial || Disruptive || Slow)", sig))
	if err != nil {
		return nil, err
	}
	for _, s := range found {
		names = append(names, s.name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("-sig: there are no tests of sig-%s", sig)
	}
	return names, nil
}

// A spec is a test, and where its source is.
type spec struct {
	name, file string
	line       int
}

// dryRun returns the tests that a filter of labels selects.
func dryRun(ctx context.Context, program, filter string) (found []spec, err error) {
	dir, err := os.MkdirTemp("", "conformance-list-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "list.json")
	cmd := exec.CommandContext(ctx, program, "--provider=skeleton", "--ginkgo.dry-run", "--ginkgo.label-filter="+filter, "--ginkgo.json-report="+file)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("listing tests: %w\n%s", err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var suites []struct {
		SpecReports []struct {
			ContainerHierarchyTexts           []string
			LeafNodeType, LeafNodeText, State string
			LeafNodeLocation                  struct {
				FileName   string
				LineNumber int
			}
		}
	}
	if err := json.Unmarshal(text, &suites); err != nil {
		return nil, err
	}
	for _, s := range suites {
		for _, r := range s.SpecReports {
			if r.LeafNodeType == "It" && r.State == "passed" {
				name := strings.Join(append(r.ContainerHierarchyTexts, r.LeafNodeText), " ")
				found = append(found, spec{name, r.LeafNodeLocation.FileName, r.LeafNodeLocation.LineNumber})
			}
		}
	}
	return found, nil
}

// A runner runs each test in a separate process: a test that hangs is ended without harm to others.
type runner struct {
	program, kubeconfig string
	options             options

	mu  sync.Mutex
	out io.Writer
}

// runAll runs tests, several at once, and then one after another the tests that are marked as
// Serial.
func (r *runner) runAll(ctx context.Context, names []string) map[string]expected.Result {
	var together, alone []string
	for _, name := range names {
		if strings.Contains(name, "[Serial]") {
			alone = append(alone, name)
		} else {
			together = append(together, name)
		}
	}
	results := map[string]expected.Result{}
	r.runSome(ctx, together, r.options.parallel, results)
	for names := range slices.Chunk(alone, atOnce) {
		r.runInOne(ctx, names, results)
	}
	r.runSome(ctx, slices.DeleteFunc(alone, func(name string) bool { return results[name].State != "" }), 1, results)
	return results
}

// atOnce is how many Serial tests one process runs: it takes seconds to start.
const atOnce = 8

// runInOne runs tests in one process, one after another, and adds their results. If a test hangs, it
// and those after it have no result.
func (r *runner) runInOne(ctx context.Context, names []string, results map[string]expected.Result) {
	var patterns []string
	for _, name := range names {
		patterns = append(patterns, regexp.QuoteMeta(name))
	}
	report := filepath.Join(r.options.logs, fileName(names[0])+".json")
	out, _ := r.start(ctx, time.Duration(len(names))*r.options.timeout/2, "("+strings.Join(patterns, "|")+")$", "--ginkgo.json-report="+report)
	text, err := os.ReadFile(report)
	var suites []struct{ SpecReports []specReport }
	if err != nil || json.Unmarshal(text, &suites) != nil {
		return
	}
	_ = files.WriteBytes(strings.TrimSuffix(report, ".json"), out)
	for _, s := range suites {
		for _, spec := range s.SpecReports {
			got, ended := spec.result()
			if name := spec.name(); ended && slices.Contains(names, name) {
				results[name] = got
				fmt.Fprintf(r.out, "%s %6.1fs %s %s\n", got.State, got.Took.Seconds(), name, got.Message)
			}
		}
	}
}

// A specReport is about one test in the report of Ginkgo.
type specReport struct {
	ContainerHierarchyTexts           []string
	LeafNodeType, LeafNodeText, State string
	RunTime                           time.Duration
	Failure                           struct{ Message string }
}

func (s specReport) name() string {
	return strings.Join(append(s.ContainerHierarchyTexts, s.LeafNodeText), " ")
}

// result returns how a test ended; false if it did not run, or was interrupted.
func (s specReport) result() (expected.Result, bool) {
	line, _, _ := strings.Cut(s.Failure.Message, "\n")
	got := expected.Result{State: expected.Fail, Took: s.RunTime, Message: line}
	switch s.State {
	case "passed":
		got.State = expected.Pass
	case "skipped":
		got.State, got.Message = expected.Skip, "the test skips itself: "+line
		return got, line != "" // others are skipped without a message
	case "failed", "panicked":
	default:
		return got, false
	}
	return got, true
}

// runSome runs tests, a number of them at once, and adds their results.
func (r *runner) runSome(ctx context.Context, names []string, atOnce int, results map[string]expected.Result) {
	slots := make(chan struct{}, max(1, atOnce))
	var all sync.WaitGroup
	for _, name := range names {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			got := r.runOne(ctx, name)
			r.mu.Lock()
			defer r.mu.Unlock()
			results[name] = got
			fmt.Fprintf(r.out, "%s %6.1fs %s %s\n", got.State, got.Took.Seconds(), name, got.Message)
		})
	}
	all.Wait()
}

func (r *runner) runOne(ctx context.Context, name string) expected.Result {
	start := time.Now()
	out, err := r.start(ctx, r.options.timeout, regexp.QuoteMeta(name)+"$")
	got := expected.Result{State: expected.Pass, Took: time.Since(start)}
	if err != nil || !bytes.Contains(out, []byte("1 Passed")) {
		got.State, got.Message = endOf(out)
	}
	if err := files.WriteBytes(filepath.Join(r.options.logs, fileName(name)), out); err != nil {
		got.Message += " (" + err.Error() + ")"
	}
	return got
}

// start runs the tests whose names match in one process, and returns its output.
func (r *runner) start(ctx context.Context, timeout time.Duration, focus string, flags ...string) ([]byte, error) {
	const margin = time.Minute // time for the clean-up of a test that has timed out
	ctx, cancel := context.WithTimeout(ctx, timeout+margin)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.program, append([]string{
		"--provider=skeleton", "--kubeconfig=" + r.kubeconfig, "--delete-namespace=true", "--allowed-not-ready-nodes=0",
		"--kubectl-path=" + filepath.Join(filepath.Dir(r.program), "kubectl"),
		"--ginkgo.no-color", "--ginkgo.vv", "--ginkgo.silence-skips", "--ginkgo.timeout=" + timeout.String(), "--ginkgo.focus=" + focus,
	}, flags...)...)
	return cmd.CombinedOutput()
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9]+`)

func fileName(test string) string { return notInNames.ReplaceAllString(test, "-") + ".log" }

// endOf returns how a test ended that did not pass, from its output.
func endOf(out []byte) (expected.State, string) {
	message := firstFailure(out)
	if _, after, skipped := bytes.Cut(out, []byte("[SKIPPED] ")); skipped && message == noMessage {
		reason, _, _ := bytes.Cut(after, []byte("\n"))
		return expected.Skip, "the test skips itself: " + string(reason)
	}
	return expected.Fail, message
}

const noMessage = "no message"

// firstFailure returns the first line of the message with which a test failed.
func firstFailure(out []byte) string {
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, len(out)+1)
	for lines.Scan() {
		if _, message, ok := strings.Cut(lines.Text(), "[FAILED] "); ok {
			return message
		}
		if strings.Contains(lines.Text(), "[TIMEDOUT]") {
			return "timed out"
		}
	}
	return noMessage
}

// writeJUnit writes results in the form that systems for continuous integration read.
func writeJUnit(file, sig string, results map[string]expected.Result) error {
	type failure struct {
		Message string `xml:"message,attr"`
	}
	type testCase struct {
		Name    string   `xml:"name,attr"`
		Seconds float64  `xml:"time,attr"`
		Failure *failure `xml:"failure"`
	}
	suite := struct {
		XMLName xml.Name   `xml:"testsuite"`
		Name    string     `xml:"name,attr"`
		Cases   []testCase `xml:"testcase"`
	}{Name: "sig-" + sig}
	for name, r := range results {
		c := testCase{Name: name, Seconds: r.Took.Seconds()}
		if r.State != expected.Pass {
			c.Failure = &failure{r.Message}
		}
		suite.Cases = append(suite.Cases, c)
	}
	text, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return err
	}
	return files.WriteBytes(file, append(text, '\n'))
}
