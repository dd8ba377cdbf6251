package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/controlplane"
	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/expected"
	"github.com/stagecraft-go/stagecraft/internal/files"
	"github.com/stagecraft-go/stagecraft/stage/lab/envtest"
)

// A runner runs the tests of a suite, package by package.
type runner struct {
	suite   suite
	dir     string // of the module
	assets  string // the directory of etcd and kube-apiserver
	timeout time.Duration
	logs    string
	out     io.Writer

	installed string // the directory of the stand-ins, or ""
}

// runAll runs the packages whose directories match, on servers.
func (r *runner) runAll(ctx context.Context, only *regexp.Regexp, on []string) (all []*outcome, err error) {
	for _, pkg := range r.suite.packages {
		if only.MatchString(pkg) && err == nil {
			o := &outcome{pkg: pkg}
			err = r.runPackage(ctx, o, on)
			all = append(all, o)
		}
	}
	return all, err
}

// runPackage builds the tests of a package and runs them on servers.
func (r *runner) runPackage(ctx context.Context, o *outcome, on []string) error {
	dir, err := os.MkdirTemp("", "suites-build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "tests")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-ldflags=-s -w", "-o", program, "./"+o.pkg)
	build.Dir, build.Env = r.dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", o.pkg, err, text)
	}
	for _, name := range on {
		column := slices.Index(servers, name)
		if column < 0 {
			return fmt.Errorf("-on: %q: want %s", name, strings.Join(servers, " or "))
		}
		if err := r.runOn(ctx, o, expected.Column(column), program); err != nil {
			return fmt.Errorf("%s: %w", o.pkg, err)
		}
		fmt.Fprintf(r.out, "%s on %s: %s\n", o.pkg, name, o.summary(expected.Column(column)))
	}
	return nil
}

// runOn runs the tests of a package on one server.
func (r *runner) runOn(ctx context.Context, o *outcome, on expected.Column, program string) (err error) {
	env, stop, err := r.start(on, filepath.Dir(program))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	report := filepath.Join(filepath.Dir(program), servers[on]+".json")
	args, err := r.flags(ctx, o.pkg, report)
	if err != nil {
		return err
	}
	if err := waitForPort(ctx); err != nil {
		return err
	}
	start := time.Now()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = filepath.Join(r.dir, o.pkg), append(os.Environ(), env...), time.Minute
	text, failed := cmd.CombinedOutput()
	o.took[on] = time.Since(start)
	if err := files.WriteBytes(filepath.Join(r.logs, strings.ReplaceAll(o.pkg, "/", "-")+"."+servers[on]+".log"), text); err != nil {
		return err
	}
	o.results[on], err = readResults(o.pkg, text, report)
	if len(o.results[on]) == 0 {
		return errors.Join(errors.New("no test has run"), failed, err)
	}
	return err // its results tell about failures
}

// metrics is where managers serve their metrics by default: two cannot run at once.
const metrics = ":8080"

// waitForPort waits until no process listens on a port.
func waitForPort(ctx context.Context) error {
	for {
		l, err := net.Listen("tcp", metrics)
		if err == nil {
			return l.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("managers of tests listen at %s: %w", metrics, err)
		case <-time.After(time.Second):
		}
	}
}

// start writes the programs of a server into a directory, and returns the environment in which the
// tests start them.
func (r *runner) start(on expected.Column, dir string) (env []string, stop func() error, err error) {
	bin, err := os.MkdirTemp(dir, servers[on]+"-")
	if err != nil {
		return nil, nil, err
	}
	programs := r.assets
	if on == expected.Memory {
		if programs, err = r.standIns(); err != nil {
			return nil, nil, err
		}
	}
	kubectl := os.Symlink(filepath.Join(r.assets, "kubectl"), filepath.Join(bin, "kubectl"))
	env = []string{"KUBEBUILDER_ASSETS=" + bin, "KUBEBUILDER_CONTROLPLANE_START_TIMEOUT=2m", "KUBEBUILDER_CONTROLPLANE_STOP_TIMEOUT=2m"}
	return env, func() error { return os.RemoveAll(bin) }, errors.Join(kubectl, controlplane.Scripts(programs, bin))
}

// standIns returns the directory of the stand-ins for etcd and kube-apiserver, which are copies of
// this program.
func (r *runner) standIns() (string, error) {
	if r.installed != "" {
		return r.installed, nil
	}
	dir, err := os.MkdirTemp("", "suites-memory-")
	if err != nil {
		return "", err
	}
	r.installed = dir
	_, err = envtest.Install(dir)
	return dir, err
}

// flags returns the flags of the tests of a package: the same order each time, and a report.
func (r *runner) flags(ctx context.Context, pkg, report string) ([]string, error) {
	flags := []string{"-test.v", "-test.timeout=" + (r.timeout + time.Minute).String()}
	if r.suite.skip != "" { // as a subtest of any test
		flags = append(flags, "-test.skip=./"+r.suite.skip)
	}
	usesGinkgo, err := r.usesGinkgo(ctx, pkg)
	if usesGinkgo {
		flags = append(flags, "-ginkgo.no-color", "-ginkgo.seed=1", "-ginkgo.timeout="+r.timeout.String(), "-ginkgo.json-report="+report)
	}
	return flags, err
}

// usesGinkgo reports whether the tests of a package take Ginkgo's flags.
func (r *runner) usesGinkgo(ctx context.Context, pkg string) (bool, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-test", "-deps", "./"+pkg)
	cmd.Dir, cmd.Env = r.dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.Output()
	return bytes.Contains(out, []byte("github.com/onsi/ginkgo/v2\n")), err
}
