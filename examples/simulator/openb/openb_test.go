package openb_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/examples/simulator/openb"
)

// data is where the published files are, if they are there.
const data = "../../../../shared/data/openb"

// TestRunsAreAsPublished compares single runs at every arrived share. All runs equal the published
// ones to the published digits, except for those of Random, whose draws depend on goroutines.
func TestRunsAreAsPublished(t *testing.T) {
	if _, err := os.Stat(data); err != nil {
		t.Skip("without the published files: ", openb.Published)
	}
	trace, err := openb.Read(data)
	require.NoError(t, err)
	var shares []int
	for s := 1; s <= 130; s++ {
		shares = append(shares, s)
	}
	published, err := openb.ReadPublished(data, shares...)
	require.NoError(t, err)
	for _, policy := range openb.Policies() {
		within := 0.03 // a mean of few Pods, of rounded numbers
		if policy == "01-Random" {
			within = 2
		}
		for _, seed := range []int64{42, 51} {
			r, err := trace.Run(context.Background(), policy, seed)
			require.NoError(t, err)
			want := published[openb.PublishedRun{Policy: policy, Seed: seed}]
			require.InDeltaSlice(t, want.Allocation[1:], r.Allocation[1:], within, "%s %d", policy, seed)
			require.InDeltaSlice(t, want.Fragmentation[1:], r.Fragmentation[1:], within, "%s %d", policy, seed)
		}
	}
}

// write writes the files of a small trace.
func write(t *testing.T, nodes, pods string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for name, text := range map[string]string{
		"openb_node_list_gpu_node.csv": "sn,cpu_milli,memory_mib,gpu,model\n" + nodes,
		"openb_pod_list_default.csv":   "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n" + pods,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	return folder
}

// small is a trace with shares and whole GPUs, and Pods that need a model.
func small(t *testing.T) *openb.Trace {
	t.Helper()
	var nodes, pods strings.Builder
	for i := range 20 {
		fmt.Fprintf(&nodes, "node-%02d,32000,131072,%d,%s\n", i, 2+2*(i%2), []string{"T4", "P100"}[i%2])
	}
	for i := range 40 {
		fmt.Fprintf(&pods, "pod-%02d,%d,4096,%d,%d,%s,LS,Running,%d,,\n", i, 2000+1000*(i%5), []int{1, 1, 1, 0, 2}[i%5], []int{300, 500, 1000, 0, 1000}[i%5], []string{"", "T4"}[i%7/6], i)
	}
	trace, err := openb.Read(write(t, nodes.String(), pods.String()))
	require.NoError(t, err)
	return trace
}

func TestAllPoliciesFillTheCluster(t *testing.T) {
	trace := small(t)
	for _, policy := range openb.Policies() {
		a, err := trace.Run(context.Background(), policy, 1)
		require.NoError(t, err)
		b, err := trace.Run(context.Background(), policy, 1)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(a), fmt.Sprint(b), policy)
		require.Positive(t, a.Placed)
		require.Positive(t, a.Failed)
		last := a.Allocation[len(a.Allocation)-1]
		require.Greater(t, last, 70.0, policy)
		require.LessOrEqual(t, last, 100.0, policy)
		require.LessOrEqual(t, a.Fragmentation[len(a.Fragmentation)-1], 100-last+0.01, "%s: a fragment is idle", policy)
	}
	_, err := trace.Run(context.Background(), "07-None", 1)
	require.EqualError(t, err, `there is no policy "07-None"`)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = trace.Run(ctx, "06-FGD", 1)
	require.ErrorIs(t, err, context.Canceled)
}

func TestFaultsOfTheFiles(t *testing.T) {
	_, err := openb.Read(t.TempDir())
	require.ErrorContains(t, err, "want a folder with the files that are published at https://github.com/")
	_, err = openb.Read(write(t, "n,1000,1000,9,T4\n", "p,1000,10,2,500,,LS,Running,0,,\np,1000,10,x,0,,LS,Running,0,,\n"))
	require.ErrorContains(t, err, `openb_pod_list_default.csv:3: column "num_gpu": "x" is no finite number`)
	_, err = openb.Read(write(t, "n,1000,1000,9,T4\n", "p,1000,10,2,500,,LS,Running,0,,\n"))
	require.EqualError(t, err, `line 2: node "n" has 9 GPUs: want 1 to 8
line 2: Pod "p" asks for 2 GPUs of 500 thousandths`)
	_, err = openb.Read(write(t, "n,1000,1000,1,T4\n", ""))
	require.EqualError(t, err, "want nodes and Pods")
}
