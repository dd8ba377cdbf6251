// Command suites runs integration tests of other projects, which need an API server and no
// controllers, on etcd and kube-apiserver as envtest starts them, and on stage/lab/apiserver:
//
//	go run . [-suite lws] [-only REGEXP]            both, and compares
//	go run . [-suite lws] [-only REGEXP] -on memory one of them
//
// The tests are those of a module as the module proxy has it, unchanged. They start the servers
// themselves, by envtest: only the variable KUBEBUILDER_ASSETS differs, which names the directory of
// the programs. In memory these are the stand-ins of stage/lab/envtest. The results are compared with the list testdata/SUITE.txt, which has the reason
// of each failure and leaves out what passes on both. A test that ends in another way is an error.
// With -update the list is written again: it keeps its reasons, and you fill in the reasons of new
// failures.
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
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/controlplane"
	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/expected"
	"github.com/stagecraft-go/stagecraft/stage/lab/envtest"
)

const kubebin = "../../kubebin"

const newTable = "# real  memory: tests of %s and how they end, written by go run . -suite %s -update"

type options struct {
	suite, only, on string
	update          bool
	timeout         time.Duration
	logs            string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	if envtest.IsProgram(os.Args[0]) { // started by tests, as one of the stand-ins
		debug.SetGCPercent(200) // as the program of stage/lab/envtest/assets
		os.Exit(envtest.Run(ctx, os.Args, os.Stdout, os.Stderr))
	}
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard()) // it reports each request that a webhook refuses
	var o options
	flag.StringVar(&o.suite, "suite", "controller-runtime", "one of "+strings.Join(names(), ", "))
	flag.StringVar(&o.only, "only", "", "run only packages whose directory a `regexp` matches; others stay as listed")
	flag.StringVar(&o.on, "on", "real,memory", "which `servers`")
	flag.BoolVar(&o.update, "update", false, "write the list anew")
	flag.DurationVar(&o.timeout, "timeout", 20*time.Minute, "how long the tests of one package may take")
	flag.StringVar(&o.logs, "logs", "", "the `directory` for the output of tests (default a temporary one)")
	flag.Parse()
	err := run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "suites:", err)
		os.Exit(1)
	}
}

// servers are the servers that tests run on, by their names in -on.
var servers = []string{expected.Real: "real", expected.Memory: "memory"}

func run(ctx context.Context, o options, out io.Writer) (err error) {
	s, ok := suites[o.suite]
	if !ok {
		return fmt.Errorf("-suite: want one of %s", strings.Join(names(), ", "))
	}
	only, err := regexp.Compile(o.only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	r := runner{suite: s, timeout: o.timeout, out: out}
	if r.logs, err = directory(o.logs); err != nil {
		return err
	}
	if r.assets, err = controlplane.Assets(kubebin, os.Stderr); err != nil {
		return err
	}
	if r.dir, err = prepare(ctx, s, filepath.Join(r.assets, "kubectl")); err != nil {
		return err
	}
	results, err := r.runAll(ctx, only, strings.Split(o.on, ","))
	err = errors.Join(err, os.RemoveAll(r.installed))
	fmt.Fprintln(out, "output of the tests:", r.logs)
	if err := errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	return conclude(out, o, results)
}

// conclude compares results with the list, or writes it.
func conclude(out io.Writer, o options, results []*outcome) error {
	file := filepath.Join("testdata", o.suite+".txt")
	list, err := expected.Read(file, fmt.Sprintf(newTable, suites[o.suite].module+" "+suites[o.suite].version, o.suite))
	if err != nil {
		return err
	}
	printTable(out, results)
	var errs []error
	for _, r := range results {
		errs = append(errs, r.compare(list, o.update))
	}
	if o.update {
		list.Drop()
		return errors.Join(append(errs, list.Write(file))...)
	}
	return errors.Join(errs...)
}

func directory(dir string) (string, error) {
	if dir == "" {
		return os.MkdirTemp("", "suites-")
	}
	dir, err := filepath.Abs(dir)
	return dir, errors.Join(err, os.MkdirAll(dir, 0o755))
}
