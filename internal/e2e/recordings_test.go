package e2e_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/internal/e2e/recording"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

var record = flag.Bool("record", false, "write the recordings instead of comparing with them")

// recordings is where they are kept: package stage/controllers is compared with them.
const recordings = "../../stage/controllers/testdata/recordings"

// TestRecordings plays every script on the real controllers and compares what they write with the recording.
func TestRecordings(t *testing.T) {
	cluster := newCluster(t)
	startControllers(t)
	kubelet, err := stage.Load("testdata/kubelet.yaml")
	require.NoError(t, err)
	playNodes(t, cluster, 2, kubelet)
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

// play plays one script in a namespace of its own.
func play(t *testing.T, cluster *kube.Cluster, name, file string) recording.Script {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	script, err := recording.Parse(data)
	require.NoError(t, err, file)
	script.Kubernetes = serverVersion(t)
	namespace := "rec-" + name
	create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}")
	out, err := recording.New(cluster, namespace, script).Record(t.Context())
	require.NoError(t, err)
	return out
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
	go func() { done <- stage.Play(ctx, set, cluster, stage.PlayerOptions{Seed: 1}) }()
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
