package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/internal/dev/recording"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

var (
	record = flag.Bool("record", false, "write the recordings")
	replay = flag.Bool("replay", false, "compare the recordings with a new run; real controllers need a machine that is not busy")
)

// recordings is where they are kept: package stage/lab/controllers is compared with them.
const recordings = "../../../stage/lab/controllers/testdata/recordings"

// TestRecordings plays every script on the real controllers and compares their writes with the
// recording.
func TestRecordings(t *testing.T) {
	if !*record && !*replay {
		t.Skip("a matter of timing: make e2e, or -replay")
	}
	cluster := newCluster(t)
	startControllers(t, plane)
	playNodes(t, cluster, 2, recording.Kubelet())
	scripts, err := filepath.Glob("testdata/scripts/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, scripts)
	t.Run("scripts", func(t *testing.T) {
		for _, file := range scripts {
			name := strings.TrimSuffix(filepath.Base(file), ".yaml")
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				compare(t, filepath.Join(recordings, name+".yaml"), play(t, cluster, name, file))
			})
		}
	})
}

// play plays one script in its own namespace.
func play(t *testing.T, cluster *kube.Cluster, name, file string) recording.Script {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	script, err := recording.Parse(data)
	require.NoError(t, err, file)
	script.Kubernetes = serverVersion(t)
	namespace := "rec-" + name
	create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}")
	out, err := recording.New(cluster, namespace, script).Record(t.Context(), settle)
	require.NoError(t, err)
	return out
}

// longest is how long a phase may take: a CronJob waits for the next minute.
const longest = 80 * time.Second

// settle is a [recording.WaitSettled] in real time.
func settle(ctx context.Context, look func(context.Context) (recording.Progress, error)) error {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	last, since := "", time.Now()
	for {
		state, err := look(ctx)
		if err != nil {
			return err
		}
		if state.Objects != last {
			last, since = state.Objects, time.Now()
		}
		if state.Done && time.Since(since) >= recording.QuietPeriod {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; the objects are %s", context.Cause(ctx), last)
		case <-tick.C:
		}
	}
}

func compare(t *testing.T, file string, got recording.Script) {
	text, err := yaml.Marshal(got)
	require.NoError(t, err)
	if *record {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, text, 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	if got.Races != "" {
		t.Skip("not compared:", got.Races)
	}
	require.Equal(t, string(want), string(text))
}

// playNodes creates nodes and plays them, and other Stages, for the time of the test.
func playNodes(t *testing.T, cluster *kube.Cluster, n int, more ...stage.Source) {
	set, err := stage.Compile(stage.Options{}, append(more, presets.NodeFast())...)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- player.Play(ctx, set, cluster, player.Options{Seed: 1}) }()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	})
	for i := range n {
		name := recording.NodePrefix + string(rune('1'+i))
		create(t, cluster, "{apiVersion: v1, kind: Node, metadata: {name: "+name+"}}")
		t.Cleanup(func() {
			require.NoError(t, cluster.Delete(context.WithoutCancel(t.Context()), nodeKind, types.NamespacedName{Name: name}, metav1.DeleteOptions{}))
		})
		eventually(t, name+" is ready and has no taints", func() bool {
			node, err := cluster.Get(t.Context(), nodeKind, types.NamespacedName{Name: name})
			if err != nil || condition(node, "Ready") != "True" {
				return false
			}
			_, tainted, _ := unstructured.NestedSlice(node.Object, "spec", "taints")
			return !tainted
		})
	}
}

func create(t *testing.T, cluster *kube.Cluster, manifest string) *unstructured.Unstructured {
	t.Helper()
	obj, err := cluster.Create(t.Context(), decode(t, manifest)[0], metav1.CreateOptions{})
	require.NoError(t, err)
	return obj
}

// createNamespace creates a namespace that tests share.
func createNamespace(t *testing.T, cluster *kube.Cluster, name string) {
	t.Helper()
	manifest := "{apiVersion: v1, kind: Namespace, metadata: {name: " + name + "}}"
	if _, err := cluster.Create(t.Context(), decode(t, manifest)[0], metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		require.NoError(t, err)
	}
}
