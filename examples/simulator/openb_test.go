package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOpenbIsAsPublished checks that the means of ten seeds are within 0.5 points of the published
// ones, for all policies and figures, and that single seeds of BestFit and FGD are within 0.3.
func TestOpenbIsAsPublished(t *testing.T) {
	if _, err := os.Stat("../../../shared/data/openb"); err != nil {
		t.Skip("without the published files")
	}
	page := t.TempDir() + "/openb.html"
	code, out, errs := simulate(t, "-study openb -report "+page)
	require.Zero(t, code, errs)
	rows := 0
	for _, row := range []string{"allocation at 100", "allocation at 130", "fragmentation at 50", "fragmentation at 90", "fragmentation at 100", "fragmentation at 120"} {
		for _, policy := range []string{"01-Random", "02-DotProd", "03-GpuClustering", "04-GpuPacking", "05-BestFit", "06-FGD"} {
			v := cells(t, strings.ReplaceAll(out, " no\n", "\n"), policy+": "+row)
			require.InDelta(t, v[0], v[1], 0.5, out)
			require.Less(t, v[2], 0.5, "the interval")
			require.Equal(t, 10.0, v[3])
			if policy == "05-BestFit" || policy == "06-FGD" {
				require.Less(t, v[5], 0.3, out)
			}
			rows++
		}
	}
	require.Equal(t, 36, rows)
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(text), "Chart: fragmentation, % of all GPUs")
}

func TestOpenbSaysWhereTheFilesAre(t *testing.T) {
	code, _, errs := simulate(t, "-study openb -data "+t.TempDir()+"/none")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "there is no such folder; want one with the files that are published at https://github.com/hkust-adsl/kubernetes-scheduler-simulator")
}
