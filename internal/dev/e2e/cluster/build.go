package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/controlplane"
)

// A program is a simulator that is measured.
type program struct {
	name string
	path string
	args func(launch) []string
}

// A launch is the parameters of a program.
type launch struct {
	kubeconfig string
	workers    int
	keep       string // prefix of the files that it may write; "" for no files
}

// stages are the Stages that kwok and stagecraft play.
var stages = []string{"../../../../stage/presets/node-fast.yaml", "../../../../stage/presets/pod-fast.yaml"}

// buildPrograms builds the programs that the options name, in that order.
func buildPrograms(o options) (programs []program, clean func(), err error) {
	dir, err := os.MkdirTemp("", "stagecraft-bench-")
	if err != nil {
		return nil, nil, err
	}
	clean = func() { _ = os.RemoveAll(dir) }
	for _, name := range o.players {
		p, err := buildProgram(o, name, dir)
		if err != nil {
			clean()
			return nil, nil, err
		}
		programs = append(programs, p)
	}
	return programs, clean, nil
}

func buildProgram(o options, name, dir string) (program, error) {
	switch name {
	case "floor":
		path, err := build("./floor", dir)
		return program{name, path, floorArgs}, err
	case "kwok":
		path, err := controlplane.Kwok("../../kwokbin", os.Stderr)
		if err != nil {
			return program{}, err
		}
		return program{name, path, kwokArgs(dir)}, configureKwok(dir, o.workers)
	case "stagecraft":
		path, err := build("./player", dir)
		return program{name, path, playerArgs}, err
	}
	return program{}, fmt.Errorf("-players %q: neither floor nor kwok nor stagecraft", name)
}

// build builds a program of this module with the flags with which kwok is built.
func build(pkg, dir string) (string, error) {
	path := filepath.Join(dir, filepath.Base(pkg))
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	return path, cmd.Run()
}

// configureKwok writes a configuration for each number of workers, followed by the Stages. Kwok
// wants either all kinds of parallelism set or none.
func configureKwok(dir string, workers []int) error {
	text := ""
	for _, path := range stages {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text += "---\n" + string(b)
	}
	for _, n := range workers {
		if err := os.WriteFile(kwokConfig(dir, n), fmt.Appendf(nil, kwokConfiguration, n, text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func kwokConfig(dir string, workers int) string {
	return filepath.Join(dir, fmt.Sprintf("kwok-%d.yaml", workers))
}

func floorArgs(l launch) []string {
	return []string{"-kubeconfig", l.kubeconfig, "-workers", fmt.Sprint(l.workers)}
}

func playerArgs(l launch) []string {
	args := floorArgs(l)
	if l.keep != "" {
		args = append(args, "-cpuprofile", l.keep+".pprof")
	}
	return append(args, stages...)
}

func kwokArgs(dir string) func(launch) []string {
	return func(l launch) []string {
		return []string{"--kubeconfig=" + l.kubeconfig, "--config=" + kwokConfig(dir, l.workers), "--manage-all-nodes=true", "--node-ip=127.0.0.1", "--node-lease-duration-seconds=40"}
	}
}

const kwokConfiguration = `apiVersion: config.kwok.x-k8s.io/v1alpha1
kind: KwokConfiguration
options:
  podPlayStageParallelism: %[1]d
  nodePlayStageParallelism: %[1]d
  nodeLeaseParallelism: 4
  podsOnNodeSyncParallelism: 4
%[2]s`
