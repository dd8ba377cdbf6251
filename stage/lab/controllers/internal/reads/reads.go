// Package reads is for tests. It compares the fields that controllers read with the table of
// package features.
//
// # Usage
//
//	func TestMain(m *testing.M) { os.Exit(reads.Main(m)) }
//
// The tests fail if a controller reads a field that the table does not call modelled. If all tests
// of the package ran, they also fail for a row of the table that names one of these tests although
// no controller read its field.
//
// # What is recorded
//
// Package stage/lab/internal/object reports each read; the other accessors build on it. A read is
// the kind of the object and the path of the field, which the identity of the map tells. A read
// belongs to the first function outside the accessors. Reads of copies that a controller makes are
// not seen. Reads of metadata are not recorded: no test compares the labels and annotations that a
// controller reads with the table.
//
// # Concurrency
//
// Main records reads of any goroutine.
package reads

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/features"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

// Main runs the tests of a package and compares what they read with the table. It returns the exit
// code. More are tests of other modules; the tests of this package also read the fields of their
// rows. With benchmarks it records nothing, because recording takes time.
func Main(m *testing.M, more ...string) int {
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() != "" {
		return m.Run()
	}
	r := newRecorder()
	object.Watch = r.read
	code := m.Run()
	object.Watch = nil
	faults := r.notInTable(features.Kinds())
	if code == 0 && allTestsRan() {
		faults = append(faults, r.unread(features.Kinds(), testsHere(more))...)
	}
	for _, fault := range faults {
		fmt.Fprintln(os.Stderr, "FAIL: "+fault)
		code = 1
	}
	if len(faults) > 0 {
		fmt.Fprintln(os.Stderr, advice)
	}
	return code
}

// advice says how to change the table.
const advice = "change the rows of the kind in stage/lab/controllers/features, or what reads the field; " +
	"then run cd stage/lab && UPDATE=1 go test ./controllers/features"

// Pause records nothing in the rest of a test, which must not run in parallel: recording takes time and
// memory.
func Pause(t *testing.T) {
	watch := object.Watch
	object.Watch = nil
	t.Cleanup(func() { object.Watch = watch })
}

func allTestsRan() bool {
	value := func(name string) string { return flag.Lookup("test." + name).Value.String() }
	return value("run") == "" && value("skip") == "" && value("short") == "false" && value("list") == ""
}

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// testsHere returns the tests of the package, and more.
func testsHere(more []string) map[string]bool {
	tests := map[string]bool{}
	for _, name := range more {
		tests[name] = true
	}
	files, _ := filepath.Glob("*_test.go")
	for _, name := range files {
		text, _ := os.ReadFile(name)
		for _, m := range testFunction.FindAllSubmatch(text, -1) {
			tests[string(m[1])] = true
		}
	}
	return tests
}

// notInTable lists the fields that controllers read and that the table does not call modelled.
func (r *recorder) notInTable(table []features.Kind) []string {
	var faults []string
	for _, k := range table {
		for path, by := range r.of(k) {
			if by == "" {
				continue // not by a controller
			}
			if fault := fault(k.Rows, path); fault != "" {
				faults = append(faults, fmt.Sprintf("%s reads %s of a %s: package features %s", by, path, k.Kind, fault))
			}
		}
	}
	return faults
}

// fault returns what is wrong with a read. The row closest to the field counts. A field that
// contains modelled fields may also be read.
func fault(rows []features.Row, path string) string {
	closest := -1
	for i, row := range rows {
		if isBelow(row.Path, path) && isRead(row) {
			return ""
		}
		if isBelow(path, row.Path) && (closest < 0 || len(row.Path) > len(rows[closest].Path)) {
			closest = i
		}
	}
	switch {
	case closest < 0:
		return "has no row for it"
	case !isRead(rows[closest]):
		return fmt.Sprintf("calls %q %s", rows[closest].Path, rows[closest].State)
	}
	return ""
}

// isRead reports whether the table says that something reads the fields of a row.
func isRead(row features.Row) bool {
	return row.State == features.Modelled || row.State == features.Stored || row.Also != ""
}

// isBelow reports whether a path is the path of a field, or of a field below it.
func isBelow(path, field string) bool {
	rest, ok := strings.CutPrefix(path, field)
	return ok && (field == "" || rest == "" || rest[0] == '.' || rest[0] == '[')
}

// unread lists the rows that tests must show and whose fields no controller read.
func (r *recorder) unread(table []features.Kind, tests map[string]bool) []string {
	var faults []string
	for _, k := range table {
		read := r.of(k)
		for _, row := range k.Rows {
			if isRead(row) && tests[row.Test] && !anyBelow(read, row.Path) {
				faults = append(faults, fmt.Sprintf("nothing reads %s of a %s: package features says that %s shows it", row.Path, k.Kind, row.Test))
			}
		}
	}
	return faults
}

func anyBelow(read map[string]string, field string) bool {
	for path := range read {
		if isBelow(path, field) {
			return true
		}
	}
	return false
}
