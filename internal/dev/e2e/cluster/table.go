package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// A rows prints each result as one line.
type rows struct{ w io.Writer }

func newRows(w io.Writer) rows {
	fmt.Fprintf(w, "%-8s %-11s %7s %7s %7s %7s %10s %7s %8s %8s %8s %9s %10s %7s\n",
		"mode", "program", "workers", "pods/s", "CPU s", "ms/pod", "all ms/pod", "cores", "RSS MiB", "p50 s", "p99 s", "PATCH/pod", "DELETE/pod", "others")
	return rows{w}
}

func (p rows) print(r result) {
	pods := float64(r.pods)
	fmt.Fprintf(p.w, "%-8s %-11s %7d %7.0f %7.2f %7.2f %10.2f %7.2f %8d %8.2f %8.2f %9.3f %10.3f %7.2f\n",
		r.mode, r.player, r.workers, r.rate(), r.cpu.Seconds(), r.perPod(r.cpu), r.perPod(r.allCPU), r.allCPU.Seconds()/r.took.Seconds(),
		r.peak>>20, r.p50.Seconds(), r.p99.Seconds(), float64(r.patches)/pods, float64(r.deletes)/pods, r.otherCores)
}

// A goal is a bound for a figure of stagecraft, which may be relative to another program in the
// same setting.
type goal struct {
	text   string
	beside string // the program that it is relative to, if any
	mode   mode   // "" for each
	met    func(of map[string]result) (figure string, met bool)
}

// applies reports whether the results of a setting contain what the goal needs.
func (g goal) applies(m mode, of map[string]result) bool {
	_, played := of["stagecraft"]
	_, measured := of[g.beside]
	return played && (measured || g.beside == "") && (g.mode == "" || g.mode == m)
}

var goals = []goal{
	{"CPU ms a pod <= 0.45", "", "", func(of map[string]result) (string, bool) {
		r := of["stagecraft"]
		v := r.perPod(r.cpu)
		return fmt.Sprintf("%.2f", v), v <= 0.45
	}},
	{"rate >= 95 % of the floor's", "floor", "", func(of map[string]result) (string, bool) {
		v := of["stagecraft"].rate() / of["floor"].rate()
		return fmt.Sprintf("%.0f %%", v*100), v >= 0.95
	}},
	{"p99 below kwok's", "kwok", live, func(of map[string]result) (string, bool) {
		ours, kwok := of["stagecraft"].p99, of["kwok"].p99
		return fmt.Sprintf("%.2f of %.2f s", ours.Seconds(), kwok.Seconds()), ours < kwok
	}},
	{"memory <= kwok's", "kwok", "", func(of map[string]result) (string, bool) {
		ours, kwok := of["stagecraft"].peak, of["kwok"].peak
		return fmt.Sprintf("%d of %d MiB", ours>>20, kwok>>20), ours <= kwok
	}},
	{"each transition played once", "", "", func(of map[string]result) (string, bool) {
		r := of["stagecraft"]
		return fmt.Sprintf("%d + %d of %d", r.patches, r.deletes, r.pods), r.patches == r.pods && r.deletes == r.pods
	}},
}

var errMissed = errors.New("a goal was missed")

// compare prints the medians of every setting and whether they meet the goals.
func compare(w io.Writer, results []result) error {
	bySetting := map[setting]map[string]result{}
	for _, of := range group(results) {
		m := median(of)
		if bySetting[m.setting] == nil {
			bySetting[m.setting] = map[string]result{}
		}
		bySetting[m.setting][m.player] = m
	}
	var missed error
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "medians of\tworkers\tgoal\tstagecraft\t")
	for _, s := range settingsOf(results) {
		for _, g := range goals {
			if of := bySetting[s]; g.applies(s.mode, of) {
				figure, met := g.met(of)
				verdict := "met"
				if !met {
					verdict, missed = "MISSED", errMissed
				}
				fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\n", s.mode, s.workers, g.text, figure, verdict)
			}
		}
	}
	return errors.Join(t.Flush(), missed)
}

// settingsOf returns the settings of results, each once, in order of their first result.
func settingsOf(results []result) []setting {
	var all []setting
	for _, r := range results {
		if !slices.Contains(all, r.setting) {
			all = append(all, r.setting)
		}
	}
	return all
}

// group collects the results of one program in one setting.
func group(results []result) [][]result {
	type kind struct {
		setting
		player string
	}
	by := map[kind][]result{}
	for _, r := range results {
		k := kind{r.setting, r.player}
		by[k] = append(by[k], r)
	}
	var all [][]result
	for _, of := range by {
		all = append(all, of)
	}
	return all
}

// median is the median of each figure separately. For requests it is the maximum, so that a
// transition that was played twice is noticed.
func median(of []result) result {
	m := of[0]
	m.took = medianOf(of, func(r result) time.Duration { return r.took })
	m.cpu = medianOf(of, func(r result) time.Duration { return r.cpu })
	m.allCPU = medianOf(of, func(r result) time.Duration { return r.allCPU })
	m.peak = medianOf(of, func(r result) int64 { return r.peak })
	m.p50 = medianOf(of, func(r result) time.Duration { return r.p50 })
	m.p99 = medianOf(of, func(r result) time.Duration { return r.p99 })
	for _, r := range of {
		m.patches, m.deletes = max(m.patches, r.patches), max(m.deletes, r.deletes)
	}
	return m
}

func medianOf[T cmp.Ordered](of []result, figure func(result) T) T {
	all := make([]T, len(of))
	for i, r := range of {
		all[i] = figure(r)
	}
	slices.Sort(all)
	return all[len(all)/2]
}
