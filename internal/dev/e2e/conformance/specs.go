package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/expected"
)

// The list of -specs was drawn before its first run, by these rules:
//
//   - A candidate passes drawable, is in no list testdata/SIG.txt, and needs no process in a Pod, as
//     a processes value reads from the source of e2e.test.
//   - Of each special interest group, the perSIG candidates with the smallest hash of drawSeed and
//     name are in the list.
const (
	drawSeed = "37"
	perSIG   = 40
	mostAll  = 300
)

// drawable leaves out specs that break nodes, that take many minutes or have no certain result, and
// those for a feature that a cluster has only if it was set up for it, such as volume drivers.
const drawable = "!(Disruptive || Slow || Flaky || Deprecated) && Feature: isEmpty"

const specsFile = "testdata/specs.txt"

const newSpecs = "# real  memory: specs of Kubernetes 1.36.3, drawn by go run . -draw, and how they end, written by go run . -specs -update"

// draw writes a list of specs that did not run yet. It does not replace a list.
func draw(ctx context.Context, program string) error {
	if _, err := os.Stat(specsFile); err == nil {
		return fmt.Errorf("-draw: %s exists; a list is drawn once, before its first run", specsFile)
	}
	candidates, err := candidates(ctx, program)
	if err != nil {
		return err
	}
	list, err := expected.Read(specsFile, newSpecs)
	if err != nil {
		return err
	}
	names := drawn(candidates)
	if len(names) > mostAll {
		return fmt.Errorf("-draw: %d specs, want at most %d", len(names), mostAll)
	}
	if err := list.Complete(names); err != nil {
		return err
	}
	return list.Write(specsFile)
}

// drawn returns specs of each special interest group.
func drawn(candidates []spec) (names []string) {
	groups := map[string][]string{}
	for _, s := range candidates {
		groups[sigOf(s.name)] = append(groups[sigOf(s.name)], s.name)
	}
	for _, sig := range slices.Sorted(maps.Keys(groups)) {
		group := groups[sig]
		slices.SortFunc(group, func(a, b string) int { return cmp.Compare(lot(a), lot(b)) })
		names = append(names, group[:min(len(group), perSIG)]...)
	}
	return names
}

func lot(name string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(drawSeed+"\x00"+name))) }

var sigInName = regexp.MustCompile(`\[sig-([a-z-]+)\]`)

// sigOf returns the special interest group in the name of a spec.
func sigOf(name string) string {
	if m := sigInName.FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return "none"
}

// candidates returns the specs that may be drawn.
func candidates(ctx context.Context, program string) (found []spec, err error) {
	all, err := dryRun(ctx, program, drawable)
	if err != nil {
		return nil, err
	}
	listed, err := listedNames()
	if err != nil {
		return nil, err
	}
	source, err := newProcesses(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if listed[s.name] {
			continue
		}
		word, err := source.neededBy(s)
		if err != nil {
			return nil, err
		}
		if word == "" {
			found = append(found, s)
		}
	}
	return found, nil
}

// listedNames returns the tests of the lists of all special interest groups.
func listedNames() (map[string]bool, error) {
	lists, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		return nil, err
	}
	listed := map[string]bool{}
	for _, file := range lists {
		if file == specsFile {
			continue
		}
		list, err := expected.Read(file, newTable)
		if err != nil {
			return nil, err
		}
		for _, name := range list.Names("") {
			listed[name] = true
		}
	}
	return listed, nil
}

// shares returns a line for each special interest group of a list, and one for all: how many pass on
// the real control plane, and how many of these in memory.
func shares(list *expected.Table) string {
	sigs := map[string]bool{}
	for _, name := range list.Names("") {
		sigs["[sig-"+sigOf(name)+"]"] = true
	}
	var b strings.Builder
	for _, sig := range append(slices.Sorted(maps.Keys(sigs)), "") {
		ofReal, both := list.Passing(sig)
		fmt.Fprintf(&b, "%-24s %3d specs, %3d pass on the real control plane, %3d of these in memory: %.1f %%\n",
			cmp.Or(sig, "all"), len(list.Names(sig)), ofReal, both, 100*float64(both)/max(1, float64(ofReal)))
	}
	return b.String()
}
