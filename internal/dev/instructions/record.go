package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/stagecraft-go/stagecraft/internal/files"
)

// regressionLimit is the largest ratio to the recorded instructions that is not a regression.
const regressionLimit = 1.05

// A record is the counts and the environment in which they were made.
type record struct {
	Command string `json:"command"`
	Go      string `json:"go"`
	Arch    string `json:"arch"`
	// Instructions of one run of each workload.
	Instructions map[string]uint64 `json:"instructions"`
}

func newRecord(version, arch string) record {
	return record{Command: "go run ./internal/dev/instructions -update", Go: version, Arch: arch, Instructions: map[string]uint64{}}
}

func readRecord(file string) (r record, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

func (r record) write(file string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return files.WriteBytes(file, append(data, '\n'))
}

// comparable reports whether counts of the two records can be compared.
func (r record) comparable(other record) bool { return r.Go == other.Go && r.Arch == other.Arch }

// merged returns the newer record. If the two are comparable, it adds the workloads that only the
// older one has.
func (r record) merged(newer record) record {
	out := newRecord(newer.Go, newer.Arch)
	if r.comparable(newer) {
		maps.Copy(out.Instructions, r.Instructions)
	}
	maps.Copy(out.Instructions, newer.Instructions)
	return out
}

// report prints the counts with the recorded ones and returns the workloads that regressed.
func report(w io.Writer, recorded, now record) (regressed []string) {
	if !recorded.comparable(now) {
		fmt.Fprintf(w, "recorded with %q on %q, counted with %q on %q: no ratio means much\n", recorded.Go, recorded.Arch, now.Go, now.Arch)
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "workload\trecorded\tnow\tratio\t")
	for _, name := range slices.Sorted(maps.Keys(now.Instructions)) {
		before, count := recorded.Instructions[name], now.Instructions[name]
		if before == 0 {
			fmt.Fprintf(out, "%s\t-\t%d\t-\t\n", name, count)
			continue
		}
		ratio := float64(count) / float64(before)
		fmt.Fprintf(out, "%s\t%d\t%d\t%.3f\t\n", name, before, count, ratio)
		if ratio > regressionLimit && recorded.comparable(now) {
			regressed = append(regressed, name)
		}
	}
	out.Flush()
	return regressed
}
