package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/internal/files"
)

// The columns of a table.
const (
	onReal = iota
	inMemory
	columns
)

// columnNames are before a reason that is about one column.
var columnNames = [columns]string{"real", "memory"}

// The results of a test.
const (
	pass = "pass"
	fail = "fail"
	skip = "skip" // it would wait for long, or does not apply
	none = "-"    // it was not run yet
)

// A table has the expected results of tests. Its file has a line for each test: the result on the
// real control plane, that in memory, and the name. Lines that begin with spaces are the reasons
// why the test before them fails or is skipped.
type table struct {
	head []string
	rows []*row
}

type row struct {
	results [columns]string
	name    string
	reasons []string
}

const newTable = "# real  memory: conformance tests of Kubernetes 1.36.3 and how they end, written by go run . -update"

var line = regexp.MustCompile(`^(pass|fail|skip|-) +(pass|fail|skip|-) +(\S.*)$`)

// readTable reads a table, and gives it rows for further tests. A file that does not exist has none.
func readTable(file string, names []string) (*table, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		text = []byte(newTable + "\n")
	} else if err != nil {
		return nil, err
	}
	t := &table{}
	for i, l := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
		if err := t.read(l); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
	}
	for _, r := range t.rows {
		if !slices.Contains(names, r.name) {
			return nil, fmt.Errorf("%s: there is no test %q", file, r.name)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(t.rows, func(r *row) bool { return r.name == name }) {
			t.rows = append(t.rows, &row{name: name, results: [columns]string{none, none}})
		}
	}
	return t, nil
}

func (t *table) read(l string) error {
	m := line.FindStringSubmatch(l)
	switch {
	case m != nil:
		t.rows = append(t.rows, &row{results: [columns]string{m[1], m[2]}, name: m[3]})
	case strings.HasPrefix(l, " ") && len(t.rows) > 0:
		r := t.rows[len(t.rows)-1]
		r.reasons = append(r.reasons, strings.TrimSpace(l))
	case strings.HasPrefix(l, "#") && len(t.rows) == 0:
		t.head = append(t.head, l)
	default:
		return fmt.Errorf("%q: want two of pass, fail, skip and -, and the name of a test", l)
	}
	return nil
}

// toRun returns the tests that are not skipped and whose names match.
func (t *table) toRun(column int, only *regexp.Regexp) (names []string) {
	for _, r := range t.rows {
		if r.results[column] != skip && only.MatchString(r.name) {
			names = append(names, r.name)
		}
	}
	return names
}

// longestReason is where the messages of failures are cut, which may print whole objects.
const longestReason = 140

// enter takes over results. A failure without a reason gets the first line of its message.
func (t *table) enter(column int, results map[string]result) {
	for _, r := range t.rows {
		got, ran := results[r.name]
		if !ran {
			continue
		}
		of := columnNames[column] + ": "
		switch r.results[column] = got.state(); {
		case got.passed:
			r.reasons = slices.DeleteFunc(r.reasons, func(s string) bool { return strings.HasPrefix(s, of) })
		case !r.hasReason(column):
			r.reasons = append(r.reasons, of+got.message[:min(len(got.message), longestReason)])
		}
	}
}

// hasReason reports whether a row has a reason that is about a column, or about all.
func (r *row) hasReason(column int) bool {
	return slices.ContainsFunc(r.reasons, func(s string) bool {
		return strings.HasPrefix(s, columnNames[column]+": ") || !strings.HasPrefix(s, columnNames[1-column]+": ")
	})
}

func (t *table) write(file string) error {
	var b bytes.Buffer
	for _, l := range t.head {
		fmt.Fprintln(&b, l)
	}
	slices.SortStableFunc(t.rows, func(a, b *row) int { return strings.Compare(a.name, b.name) })
	for _, r := range t.rows {
		fmt.Fprintf(&b, "%-5s %-6s %s\n", r.results[onReal], r.results[inMemory], r.name)
		for _, reason := range r.reasons {
			fmt.Fprintf(&b, "             %s\n", reason)
		}
	}
	return files.WriteBytes(file, b.Bytes())
}

// compare prints how many tests passed, and returns an error for those that ended in another way
// than expected, and for those whose failure has no reason.
func (t *table) compare(out io.Writer, column int, results map[string]result) error {
	var errs []error
	passed := 0
	for _, r := range t.rows {
		got, ran := results[r.name]
		if got.passed {
			passed++
		}
		if want := r.results[column]; ran && got.state() != want {
			errs = append(errs, fmt.Errorf("%s: is %s, listed as %s", r.name, got.state(), want))
		}
		if is := r.results[column]; (is == fail || is == skip) && !r.hasReason(column) {
			errs = append(errs, fmt.Errorf("%s: is listed as %s without a reason", r.name, r.results[column]))
		}
	}
	fmt.Fprintf(out, "%d of %d passed; %d are listed\n", passed, len(results), len(t.rows))
	return errors.Join(errs...)
}
