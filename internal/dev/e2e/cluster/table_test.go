package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// measured is a result that meets every goal, changed by change.
func measured(player string, m mode, change func(*result)) result {
	r := result{setting: setting{mode: m, workers: 4, pods: 1000}, player: player, took: 2 * time.Second, cpu: 400 * time.Millisecond, peak: 50 << 20, p99: time.Second,
		patches: 1000, deletes: 1000}
	if player == "kwok" {
		r.p99, r.peak = 2*time.Second, 60<<20
	}
	if change != nil {
		change(&r)
	}
	return r
}

func TestGoals(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*result)
		missed string
	}{
		{"all met", nil, ""},
		{"CPU", func(r *result) { r.cpu = 460 * time.Millisecond }, "CPU ms a pod <= 0.45"},
		{"rate", func(r *result) { r.took = 2110 * time.Millisecond }, "rate >= 95 % of the floor's"},
		{"latency", func(r *result) { r.p99 = 2 * time.Second }, "p99 below kwok's"},
		{"memory", func(r *result) { r.peak = 61 << 20 }, "memory <= kwok's"},
		{"a patch too many", func(r *result) { r.patches++ }, "each transition played once"},
		{"a delete too few", func(r *result) { r.deletes-- }, "each transition played once"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			err := compare(&out, []result{measured("floor", live, nil), measured("kwok", live, nil), measured("stagecraft", live, c.change)})
			if c.missed == "" {
				require.NoError(t, err)
				require.NotContains(t, out.String(), "MISSED")
				return
			}
			require.ErrorIs(t, err, errMissed)
			require.Regexp(t, c.missed+` .*MISSED`, out.String())
			require.Equal(t, 1, bytes.Count(out.Bytes(), []byte("MISSED")))
		})
	}
}

func TestGoalsAreJudgedByTheProgramsThatPlayed(t *testing.T) {
	slow := measured("stagecraft", live, func(r *result) { r.took, r.peak, r.p99 = time.Hour, 1<<40, time.Hour })
	for _, c := range []struct{ beside, judged, not string }{
		{"floor", "rate", "memory|p99"},
		{"kwok", "memory|p99", "rate"},
	} {
		var out bytes.Buffer
		require.ErrorIs(t, compare(&out, []result{measured(c.beside, live, nil), slow}), errMissed)
		require.Regexp(t, "("+c.judged+") .*MISSED", out.String())
		require.NotRegexp(t, c.not, out.String())
	}
	require.NoError(t, compare(new(bytes.Buffer), []result{measured("floor", live, nil), measured("kwok", live, nil)}), "without us there is nothing to judge")
}

func TestMediansCountButTheWorstOfRequests(t *testing.T) {
	slow := measured("floor", backlog, func(r *result) { r.took, r.patches = time.Hour, 1001 })
	fast := measured("floor", backlog, func(r *result) { r.took = time.Second })
	m := median([]result{slow, measured("floor", backlog, nil), fast})
	require.Equal(t, 2*time.Second, m.took)
	require.Equal(t, 1001, m.patches)
}

func TestOneProgramIsComparedWithNothing(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, compare(&out, []result{measured("stagecraft", live, nil)}))
}

func TestFlags(t *testing.T) {
	o, err := parse([]string{"-workers", "4,16", "-modes", "live", "-rounds", "2"})
	require.NoError(t, err)
	require.Equal(t, []setting{{live, 4, 5000}, {live, 16, 5000}, {live, 4, 5000}, {live, 16, 5000}}, o.settings())
	for _, args := range [][]string{{"-workers", "x"}, {"-workers", "0"}, {"-modes", "dead"}, {"-pods", "0"}} {
		_, err := parse(args)
		require.Error(t, err, args)
	}
	_, err = buildProgram(o, "kubelet", t.TempDir())
	require.ErrorContains(t, err, `"kubelet"`)
}

func TestEachProgramFollowsEachOtherAsOften(t *testing.T) {
	programs := []program{{name: "a"}, {name: "b"}, {name: "c"}}
	first, follows := map[string]int{}, map[string]int{}
	for round := range 6 {
		order := orderForRound(programs, round)
		first[order[0].name]++
		for i := range order[1:] {
			follows[order[i].name+order[i+1].name]++
		}
	}
	require.Equal(t, map[string]int{"a": 2, "b": 2, "c": 2}, first)
	require.Equal(t, map[string]int{"ab": 2, "ac": 2, "ba": 2, "bc": 2, "ca": 2, "cb": 2}, follows)
}
