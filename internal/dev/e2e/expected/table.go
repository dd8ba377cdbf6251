// Package expected keeps a list of tests of other projects in a file. It has the results on a real
// control plane and on the server in memory, with the reason of each test that does not pass.
//
// # Concurrency
//
// A Table must not be used from several goroutines at once.
package expected

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
	"time"

	"github.com/stagecraft-go/stagecraft/internal/files"
)

// A Column of a [Table] is a cluster that tests run on.
type Column int

// The columns.
const (
	Real   Column = iota // etcd and kube-apiserver
	Memory               // stage/lab/apiserver
	columns
)

// columnNames are before a reason that is about one column.
var columnNames = [columns]string{"real", "memory"}

// A State is how a test ends.
type State string

// The states.
const (
	Pass State = "pass"
	Fail State = "fail"
	Skip State = "skip" // it would wait for long, or does not apply
	Vary State = "vary" // it passes or fails from run to run
	none State = "-"    // it was not run yet
)

// A Result is how a test ended.
type Result struct {
	State   State
	Took    time.Duration
	Message string // the first line of its failure
}

// A Table has the expected results of tests. Its file has a line for each test: the result on the
// real control plane, the result in memory, and the name. Lines that begin with spaces are the
// reasons why the test before them fails or is skipped.
type Table struct {
	head []string
	rows []*row
}

type row struct {
	results [columns]State
	name    string
	reasons []string
}

var line = regexp.MustCompile(`^(pass|fail|skip|vary|-) +(pass|fail|skip|vary|-) +(\S.*)$`)

// Read reads a table. A file that does not exist has no tests, and the head, a line.
func Read(file, head string) (*Table, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		text = []byte(head + "\n")
	} else if err != nil {
		return nil, err
	}
	t := &Table{}
	for i, l := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
		if err := t.read(l); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
	}
	return t, nil
}

// Complete adds tests that the table does not have yet. It returns an error for tests in the table
// that do not exist.
func (t *Table) Complete(names []string) error {
	var errs []error
	for _, r := range t.rows {
		if !slices.Contains(names, r.name) {
			errs = append(errs, fmt.Errorf("there is no test %q", r.name))
		}
	}
	for _, name := range names {
		t.Add(name, none)
	}
	return errors.Join(errs...)
}

// Add adds a test that is expected to end in the same way in all columns, if the table does not have
// it yet.
func (t *Table) Add(name string, state State) {
	if !slices.ContainsFunc(t.rows, func(r *row) bool { return r.name == name }) {
		t.rows = append(t.rows, &row{name: name, results: [columns]State{state, state}})
	}
}

// Drop removes the tests that pass in all columns, for a list of exceptions.
func (t *Table) Drop() {
	t.rows = slices.DeleteFunc(t.rows, func(r *row) bool {
		return !slices.ContainsFunc(r.results[:], func(s State) bool { return s != Pass })
	})
}

// Names returns the tests whose names begin with a prefix.
func (t *Table) Names(prefix string) (names []string) {
	for _, r := range t.rows {
		if strings.HasPrefix(r.name, prefix) {
			names = append(names, r.name)
		}
	}
	return names
}

// Passing returns how many tests whose names begin with a prefix pass in the column Real, and how
// many of these in the column Memory.
func (t *Table) Passing(prefix string) (onReal, onBoth int) {
	for _, r := range t.rows {
		if !strings.HasPrefix(r.name, prefix) || r.results[Real] != Pass {
			continue
		}
		onReal++
		if r.results[Memory] == Pass {
			onBoth++
		}
	}
	return onReal, onBoth
}

func (t *Table) read(l string) error {
	m := line.FindStringSubmatch(l)
	switch {
	case m != nil:
		t.rows = append(t.rows, &row{results: [columns]State{State(m[1]), State(m[2])}, name: m[3]})
	case strings.HasPrefix(l, " ") && len(t.rows) > 0:
		r := t.rows[len(t.rows)-1]
		r.reasons = append(r.reasons, strings.TrimSpace(l))
	case strings.HasPrefix(l, "#") && len(t.rows) == 0:
		t.head = append(t.head, l)
	default:
		return fmt.Errorf("%q: want two of pass, fail, skip, vary and -, and the name of a test", l)
	}
	return nil
}

// ToRun returns the tests that are not skipped and whose names match.
func (t *Table) ToRun(column Column, only *regexp.Regexp) (names []string) {
	for _, r := range t.rows {
		if r.results[column] != Skip && only.MatchString(r.name) {
			names = append(names, r.name)
		}
	}
	return names
}

// longestReason is where the messages of failures are cut, which may print whole objects.
const longestReason = 140

// Enter takes over results. A failure without a reason gets the first line of its message.
func (t *Table) Enter(column Column, results map[string]Result) {
	for _, r := range t.rows {
		got, ran := results[r.name]
		if !ran || r.results[column] == Vary {
			continue
		}
		of := columnNames[column] + ": "
		switch r.results[column] = got.State; {
		case got.State == Pass:
			r.reasons = slices.DeleteFunc(r.reasons, func(s string) bool { return strings.HasPrefix(s, of) })
		case !r.hasReason(column):
			r.reasons = append(r.reasons, of+strings.TrimSpace(got.Message[:min(len(got.Message), longestReason)]))
		}
	}
}

// hasReason reports whether a row has a reason that is about a column, or about all.
func (r *row) hasReason(column Column) bool {
	return slices.ContainsFunc(r.reasons, func(s string) bool {
		return strings.HasPrefix(s, columnNames[column]+": ") || !strings.HasPrefix(s, columnNames[1-column]+": ")
	})
}

// Write writes the table, ordered by names.
func (t *Table) Write(file string) error {
	var b bytes.Buffer
	for _, l := range t.head {
		fmt.Fprintln(&b, l)
	}
	slices.SortStableFunc(t.rows, func(a, b *row) int { return strings.Compare(a.name, b.name) })
	for _, r := range t.rows {
		fmt.Fprintf(&b, "%-5s %-6s %s\n", r.results[Real], r.results[Memory], r.name)
		for _, reason := range r.reasons {
			fmt.Fprintf(&b, "             %s\n", reason)
		}
	}
	return files.WriteBytes(file, b.Bytes())
}

// Compare prints how many tests passed. It returns an error for tests that ended in another way
// than expected, and for tests whose failure has no reason.
func (t *Table) Compare(out io.Writer, column Column, results map[string]Result) error {
	var errs []error
	passed := 0
	for _, r := range t.rows {
		got, ran := results[r.name]
		if got.State == Pass {
			passed++
		}
		if want := r.results[column]; ran && got.State != want && want != Vary {
			errs = append(errs, fmt.Errorf("%s: is %s, listed as %s", r.name, got.State, want))
		}
		if is := r.results[column]; (is == Fail || is == Skip || is == Vary) && !r.hasReason(column) {
			errs = append(errs, fmt.Errorf("%s: is listed as %s without a reason", r.name, r.results[column]))
		}
	}
	fmt.Fprintf(out, "%d of %d passed; %d are listed\n", passed, len(results), len(t.rows))
	return errors.Join(errs...)
}
