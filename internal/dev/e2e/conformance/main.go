// Command conformance runs conformance tests of Kubernetes: the tests of e2e.test that are neither
// Serial nor Disruptive nor Slow. It runs them on one of two clusters with three nodes:
//
//	go run . [-sig apps] [-run REGEXP]            etcd, kube-apiserver, kube-controller-manager and kube-scheduler
//	go run . [-sig apps] [-run REGEXP] -memory    stage/lab/apiserver, with all the controllers of this project
//
// The Pods of both are run by stage/lab/controllers/kubelet, and the Nodes by Stages. The results
// are compared with the list testdata/SIG.txt, which has the reason of each failure. A test that
// ends in another way than listed is an error. With -update the list is written again: it keeps its
// reasons, and you fill in the reasons of new failures. Tests that are listed as skip do not run.
//
//	go run . -specs [-run REGEXP] [-memory] [-update]
//
// runs specs that were drawn once, before their first run, from those of all special interest groups
// that need no process in a Pod, see specs.go. Serial specs are among them, and run one at a time.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/controlplane"
	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/expected"
)

const kubebin = "../../kubebin"

const newTable = "# real  memory: conformance tests of Kubernetes 1.36.3 and how they end, written by go run . -update"

type options struct {
	sig      string
	specs    bool
	draw     bool
	run      string
	memory   bool
	update   bool
	parallel int
	timeout  time.Duration
	logs     string
}

func main() {
	log.SetLogger(logr.Discard()) // the output of envtest
	var o options
	flag.StringVar(&o.sig, "sig", "apps", "whose tests, a special interest `group` of Kubernetes")
	flag.BoolVar(&o.specs, "specs", false, "the tests of "+specsFile+", of all groups")
	flag.BoolVar(&o.draw, "draw", false, "draw the tests of "+specsFile+", and run none")
	flag.StringVar(&o.run, "run", "", "run only tests whose name a `regexp` matches; others stay as listed")
	flag.BoolVar(&o.memory, "memory", false, "on the server in memory")
	flag.BoolVar(&o.update, "update", false, "write the list anew")
	flag.IntVar(&o.parallel, "parallel", 6, "how many tests at once")
	flag.DurationVar(&o.timeout, "timeout", 6*time.Minute, "how long one test may take")
	flag.StringVar(&o.logs, "logs", "", "the `directory` for the output of tests and for junit.xml (default a temporary one)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, out io.Writer) (err error) {
	only, err := regexp.Compile(o.run)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	program, err := controlplane.Tests(kubebin, os.Stderr)
	if err != nil {
		return err
	}
	if o.draw {
		return draw(ctx, program)
	}
	if o.logs, err = directory(o.logs); err != nil {
		return err
	}
	want, err := o.read(ctx, program)
	if err != nil {
		return err
	}
	c, err := startCluster(o.memory)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	r := runner{program: program, kubeconfig: c.kubeconfig, options: o, out: out}
	results := r.runAll(ctx, want.ToRun(o.column(), only))
	fmt.Fprintln(out, "output of the tests:", o.logs)
	if err := errors.Join(ctx.Err(), writeJUnit(filepath.Join(o.logs, "junit.xml"), o.sig, results)); err != nil {
		return err
	}
	if o.update {
		want.Enter(o.column(), results)
		err = want.Write(o.file())
	} else {
		err = want.Compare(out, o.column(), results)
	}
	if o.specs {
		fmt.Fprint(out, shares(want))
	}
	return err
}

// file is the file of the list.
func (o options) file() string {
	if o.specs {
		return specsFile
	}
	return filepath.Join("testdata", o.sig+".txt")
}

// read reads the list. The list of a special interest group gets the tests that it does not have
// yet.
func (o options) read(ctx context.Context, program string) (*expected.Table, error) {
	if o.specs {
		return expected.Read(specsFile, newSpecs)
	}
	names, err := list(ctx, program, o.sig)
	if err != nil {
		return nil, err
	}
	want, err := expected.Read(o.file(), newTable)
	if err != nil {
		return nil, err
	}
	if err := want.Complete(names); err != nil {
		return nil, fmt.Errorf("%s: %w", o.file(), err)
	}
	return want, nil
}

// column is the column of the list that the results belong to.
func (o options) column() expected.Column {
	if o.memory {
		return expected.Memory
	}
	return expected.Real
}

func directory(dir string) (string, error) {
	if dir == "" {
		return os.MkdirTemp("", "conformance-")
	}
	dir, err := filepath.Abs(dir)
	return dir, errors.Join(err, os.MkdirAll(dir, 0o755))
}
