// Command test runs the tests of the core, of the lab and of the house, which are three modules:
//
//	go run ./internal/dev/test [flags of go test]
//
// It runs in the root of the repository. Its exit code is 1 if a test failed in any module. The tests of
// the house read the files of the others, which the cache of test results does not see, so they always run;
// they have one goroutine each, so that they run without the race detector. Vet, which takes a fifth of a
// cold run, is a step of .ci/run.
package main

import (
	"fmt"
	"os"
	"os/exec"
)

// modules are the directories of the modules that are tested, in this order.
var modules = []string{".", "stage/lab", house}

const house = "internal/house"

func main() {
	failed := false
	for _, dir := range modules {
		if err := test(dir, os.Args[1:]); err != nil {
			fmt.Fprintf(os.Stderr, "test: %s: %v\n", dir, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// test runs go test in a directory.
func test(dir string, flags []string) error {
	args := append([]string{"test", "-vet=off"}, flags...)
	if dir == house {
		args = append(args, "-count=1", "-race=false")
	}
	cmd := exec.Command("go", append(args, "./...")...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stdout, os.Stderr
	return cmd.Run()
}
