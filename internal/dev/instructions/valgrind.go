package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

// count counts the instructions of the workloads whose name contains only.
func count(ctx context.Context, only string) (record, error) {
	valgrind, err := exec.LookPath("valgrind")
	if err != nil {
		return record{}, fmt.Errorf("valgrind is needed to count instructions and is not here: %w", err)
	}
	r := newRecord(runtime.Version(), runtime.GOARCH)
	for _, w := range workloads {
		if !strings.Contains(w.name, only) {
			continue
		}
		if r.Instructions[w.name], err = instructionsPerRun(ctx, valgrind, w); err != nil {
			return r, fmt.Errorf("%s: %w", w.name, err)
		}
	}
	if len(r.Instructions) == 0 {
		return r, fmt.Errorf("no workload is called %q", only)
	}
	return r, nil
}

// instructionsPerRun returns the instructions of one run of a workload. It counts few and many runs
// and divides the difference, so that start, setup and warm-up cancel out.
func instructionsPerRun(ctx context.Context, valgrind string, w workload) (uint64, error) {
	warm := w.times/10 + 1
	before, err := instructionsOf(ctx, valgrind, w.name, warm)
	if err != nil {
		return 0, err
	}
	after, err := instructionsOf(ctx, valgrind, w.name, warm+w.times)
	if err != nil {
		return 0, err
	}
	if after < before {
		return 0, fmt.Errorf("%d plays take %d instructions, %d take %d", warm, before, warm+w.times, after)
	}
	return (after - before) / uint64(w.times), nil
}

// instructionsOf returns the instructions that this program takes to run a workload.
func instructionsOf(ctx context.Context, valgrind, name string, times int) (uint64, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, valgrind, "--tool=callgrind", "--callgrind-out-file="+os.DevNull, self, "-play", name, "-times", strconv.Itoa(times))
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=off", "GOMEMLIMIT=off", "GODEBUG=asyncpreemptoff=1")
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%w\n%s", err, stderr.String())
	}
	return parseCount(stderr.String())
}

var collectedLine = regexp.MustCompile(`(?m)^==\d+== Collected : (\d+)$`)

// parseCount reads the count from the output of callgrind.
func parseCount(output string) (uint64, error) {
	found := collectedLine.FindStringSubmatch(output)
	if found == nil {
		return 0, errors.New("valgrind counted nothing:\n" + output)
	}
	return strconv.ParseUint(found[1], 10, 64)
}
