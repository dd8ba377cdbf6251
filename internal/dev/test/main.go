// Command test runs the tests of the core, of the lab and of the house, which are three modules:
//
//	go run ./internal/dev/test [-race] [flags of go test]
//
// It runs in the root of the repository. Its exit code is 1 if a test failed in any module. The tests of
// the house read the files of the others, which the cache of test results does not see, so they always run.
// Vet, which takes a fifth of a cold run, is a step of .ci/run.
// Unless the environment has GOGC, it is 400, also for the compiler: that saves a fifth of its time.
//
// With -race the race detector looks at the packages that have goroutines of their own. They play a tenth of
// what package effort counts, also with STAGECRAFT_ALL. The other packages compute: they run without the race
// detector, and so do once more the packages with tests that count or that the race detector would falsify.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
)

// modules are the directories of the modules that are tested, in this order.
var modules = []string{".", "stage/lab", house}

const house = "internal/house"

func main() {
	if os.Getenv("GOGC") == "" {
		os.Setenv("GOGC", "400")
	}
	failed := false
	for _, dir := range modules {
		if err := testModule(dir, os.Args[1:]); err != nil {
			fmt.Fprintf(os.Stderr, "test: %s: %v\n", dir, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// testModule runs the tests of a module.
func testModule(dir string, flags []string) error {
	race := slices.Index(flags, "-race")
	switch {
	case dir == house:
		flags = append(slices.Clone(flags), "-count=1", "-race=false")
	case race >= 0:
		return testWithRace(dir, flags, slices.Delete(slices.Clone(flags), race, race+1))
	}
	return goTest(dir, flags, []string{"./..."})
}

// testWithRace runs the tests of a module in two parts.
func testWithRace(dir string, with, without []string) error {
	raced, plain, err := divide(dir)
	if err != nil {
		return err
	}
	racedErr := goTest(dir, with, raced, "STAGECRAFT_ALL=")
	if err := goTest(dir, without, plain); err != nil {
		return err
	}
	return racedErr
}

// goTest runs go test in a directory, with more variables in the environment.
func goTest(dir string, flags, packages []string, env ...string) error {
	cmd := exec.Command("go", slices.Concat([]string{"test", "-vet=off"}, flags, packages)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), env...)
	return cmd.Run()
}
