// Command test runs the tests of the core and of the lab, which are two modules:
//
//	go run ./internal/dev/test [flags of go test]
//
// It runs in the root of the repository. Its exit code is 1 if a test failed in either module.
package main

import (
	"fmt"
	"os"
	"os/exec"
)

// modules are the directories of the modules that are tested, in this order.
var modules = []string{".", "stage/lab"}

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
	cmd := exec.Command("go", append(append([]string{"test"}, flags...), "./...")...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stdout, os.Stderr
	return cmd.Run()
}
