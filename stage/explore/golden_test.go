package explore_test

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/txtar"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/explore"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

var update = flag.Bool("update", false, "rewrite the wanted graphs")

var sources = map[string]func() stage.Source{
	"pod-fast": presets.PodFast, "pod-general": presets.PodGeneral, "pod-chaos": presets.PodChaos, "node-fast": presets.NodeFast,
	"node-heartbeat": presets.NodeHeartbeat, "node-heartbeat-with-lease": presets.NodeHeartbeatWithLease, "node-chaos": presets.NodeChaos, "volumes": presets.Volumes,
}

// TestGolden explores the cases in testdata. The words of the comment that look like options are: a
// preset by its name, delete, max=N, others.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			require.NoError(t, err)
			got := explored(t, a).String()
			want := &a.Files[len(a.Files)-1]
			require.Equal(t, "want", want.Name)
			if *update {
				want.Data = []byte(got)
				require.NoError(t, os.WriteFile(file, txtar.Format(a), 0o644))
			}
			require.Equal(t, string(want.Data), got)
		})
	}
}

// explored is the graph of an archive.
func explored(t *testing.T, a *txtar.Archive) *explore.Graph {
	t.Helper()
	set, objects, o := parts(t, a)
	g, err := explore.Explore(t.Context(), set, o, objects...)
	require.NoError(t, err)
	return g
}

// parts are what an archive holds.
func parts(t *testing.T, a *txtar.Archive) (*stage.Set, []*unstructured.Unstructured, explore.Options) {
	t.Helper()
	var from []stage.Source
	o := explore.Options{Kinds: []memory.Kind{{GroupVersionKind: train, Status: true}, {GroupVersionKind: wagon, Status: true}}}
	for word := range strings.FieldsSeq(string(a.Comment)) {
		switch {
		case sources[word] != nil:
			from = append(from, sources[word]())
		case word == "-delete":
			o.Actions = append(o.Actions, explore.Delete())
		case strings.HasPrefix(word, "max="):
			n, err := strconv.Atoi(word[len("max="):])
			require.NoError(t, err)
			o.MaxStates = n
		}
	}
	var text []byte
	for _, f := range a.Files {
		if strings.HasSuffix(f.Name, ".yaml") {
			text = append(append(text, "---\n"...), f.Data...)
		}
	}
	objects := stage.Parse("objects.yaml", text)
	set, err := stage.Compile(stage.Options{}, append(from, objects)...)
	require.NoError(t, err)
	return set, objects.OtherObjects(), o
}

var (
	train = schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Train"}
	wagon = schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Wagon"}
)
