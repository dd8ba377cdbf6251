// Stagecraft is the command of this repository. It serves a Kubernetes in memory to any client, waits until
// objects are ready, checks, explains, draws and plays kwok Stages, rehearses staged rollouts, and fits delays
// to what a cluster did.
//
//	stagecraft serve                      # a cluster in memory; prints export KUBECONFIG=…
//	stagecraft ready --wait deploy/web    # also as kubectl ready, if the file is called kubectl-ready
//	stagecraft lint stages.yaml
//	stagecraft envtest assets             # the tests of an operator in memory, by KUBEBUILDER_ASSETS
//	stagecraft --help
//
// # Exit codes
//
//	0  yes: ready, no findings, rehearsed, ended as asked
//	1  no: an object is not ready, a file has faults or findings, a replayed plan still fails
//	2  no answer: wrong flags, a file that cannot be read, a cluster that cannot be reached
//
// serve -- COMMAND ends with the exit code of COMMAND.
//
// # Output
//
// Results go to standard output, everything else to standard error. Output is never colored. A progress
// report redraws its lines on a terminal only, and not if NO_COLOR or TERM=dumb is set.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/stagecraft-go/stagecraft/stage/lab/envtest"
)

func main() { os.Exit(execute()) }

// execute runs the command line of the process and returns its exit code.
func execute() int {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200) // an API server in memory answers with a fifth less CPU
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if envtest.IsProgram(os.Args[0]) {
		return envtest.Run(ctx, os.Args, os.Stdout, os.Stderr)
	}
	root := newRoot(filepath.Base(os.Args[0]))
	root.SetArgs(os.Args[1:])
	root.SetIn(os.Stdin)
	root.SetOut(os.Stdout)
	root.SetErr(os.Stderr)
	return run(ctx, root, os.Stderr)
}

// run runs a command and prints its error, with the name of the program before each line.
func run(ctx context.Context, root *cobra.Command, stderr io.Writer) int {
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	if text := strings.TrimSpace(err.Error()); text != "" {
		prefix := root.Name() + ": "
		fmt.Fprintln(stderr, prefix+strings.ReplaceAll(text, "\n", "\n"+prefix))
	}
	var wrong usageError
	if errors.As(err, &wrong) {
		fmt.Fprintf(stderr, "Run '%s --help' for usage.\n", cmd.CommandPath())
	}
	return codeOf(err)
}

// The exit codes that are not 0.
const (
	codeNo       = 1
	codeNoAnswer = 2
)

// An answer is the end of a command that has already printed why, with its exit code.
type answer int

func (answer) Error() string { return "" }

// errNo is the answer no.
const errNo = answer(codeNo)

// A faultyInput is an error of the user's files that stagecraft was asked to judge: the answer is no.
type faultyInput struct{ error }

func (f faultyInput) Unwrap() error { return f.error }

// A usageError is a fault of the command line.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// codeOf returns the exit code of an error.
func codeOf(err error) int {
	var a answer
	var faulty faultyInput
	switch {
	case errors.As(err, &a):
		return int(a)
	case errors.As(err, &faulty):
		return codeNo
	}
	return codeNoAnswer
}
