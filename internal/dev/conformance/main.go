// Command conformance runs the cases of a directory in the format that its README describes, and
// prints for each suite
//
//	suite NAME passed/total
//
// and the failing cases, with -v as diffs. It exits with 1 if a case failed and with 2 if a file
// cannot be read. Suites whose folder or file is missing are skipped. Scores against the health
// rules of other projects follow, as
//
//	suite NAME agreed/total falseCurrent N
//
// with the disagreements under -v; they decide nothing.
//
// Usage:
//
//	go run ./internal/dev/conformance [-v] [-run SUBSTRING] DIR
//	go run ./internal/dev/conformance -definitions CRDS DIR
//
// The second form compares the verdicts on custom resources without and with the definitions of their
// kinds, which it reads from the YAML files below CRDS.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// A suite is a group of cases that are counted together.
type suite struct {
	name  string
	cases []testCase
}

// A testCase returns "" if it passes, else the fault, which is usually a diff.
type testCase struct {
	name string
	run  func() string
}

// A loader finds the suites of one part of the corpus below dir.
type loader func(dir string) ([]suite, error)

// loaders are the parts of the corpus, in the order of the output.
var loaders = []loader{stageSuites, invalidSuites, statusSuites, stagedSuites}

func main() {
	verbose := flag.Bool("v", false, "print a diff for each failing case")
	only := flag.String("run", "", "run the suites whose name contains this")
	definitions := flag.String("definitions", "", "compare verdicts without and with the definitions below this directory")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: conformance [-v] [-run SUBSTRING] [-definitions CRDS] DIR")
		os.Exit(2)
	}
	failed, err := 0, error(nil)
	if *definitions != "" {
		err = scoreDefinitions(os.Stdout, flag.Arg(0), *definitions)
	} else {
		failed, err = run(os.Stdout, flag.Arg(0), *only, *verbose)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(2)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

// run runs all suites and returns how many cases failed.
func run(w io.Writer, dir, only string, verbose bool) (failed int, err error) {
	if _, err := os.Stat(dir); err != nil {
		return 0, err
	}
	for _, load := range loaders {
		suites, err := load(dir)
		if err != nil {
			return failed, err
		}
		for _, s := range suites {
			if strings.Contains(s.name, only) {
				failed += s.print(w, verbose)
			}
		}
	}
	return failed, scoreHealth(w, dir, only, verbose)
}

// print runs a suite and prints its line and its failures.
func (s suite) print(w io.Writer, verbose bool) (failed int) {
	var report strings.Builder
	for _, c := range s.cases {
		if diff := c.run(); diff != "" {
			failed++
			fmt.Fprintf(&report, "FAIL %s %s\n", s.name, c.name)
			if verbose {
				fmt.Fprintln(&report, diff)
			}
		}
	}
	fmt.Fprintf(w, "suite %s %d/%d\n%s", s.name, len(s.cases)-failed, len(s.cases), report.String())
	return failed
}
