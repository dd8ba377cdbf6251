package explore_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/explore"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

const corpus = "../../../shared/conformance/stage"

// TestRecordedStageSets explores the objects of the recorded cases with the Stages that they were
// recorded with.
func TestRecordedStageSets(t *testing.T) {
	suites, err := filepath.Glob(filepath.Join(corpus, "*"))
	require.NoError(t, err)
	if len(suites) == 0 {
		t.Skip("the recorded cases are not beside this repository")
	}
	for _, suite := range suites {
		stages, err := stage.Load(filepath.Join(suite, "stages"))
		require.NoError(t, err)
		set, err := stage.Compile(stage.Options{Lenient: true}, stages)
		require.NoError(t, err)
		inputs, err := filepath.Glob(filepath.Join(suite, "*.input.yaml"))
		require.NoError(t, err)
		for _, input := range inputs {
			t.Run(filepath.Base(suite)+"/"+filepath.Base(input), func(t *testing.T) { exploreRecorded(t, set, input) })
		}
	}
}

func exploreRecorded(t *testing.T, set *stage.Set, input string) {
	text, err := os.ReadFile(input)
	require.NoError(t, err)
	obj := object(t, string(text))
	o := explore.Options{MaxStates: 500, Actions: []explore.Action{explore.Delete()}}
	for _, kind := range append(set.Kinds(), obj.GroupVersionKind(), schema.GroupVersionKind{}) {
		o.Kinds = append(o.Kinds, memory.Kind{GroupVersionKind: kind, Status: true})
	}
	if obj.GetName() == "" {
		obj.SetName("nameless")
	}
	g, err := explore.Explore(t.Context(), set, o, obj)
	require.NoError(t, err)
	require.False(t, g.Truncated(), "%d states:\n%.3000s", len(g.States), g)
	for _, target := range []explore.Target{explore.Gone, explore.Ready} {
		times, err := g.TimeTo(target, explore.TimeOptions{})
		require.NoError(t, err)
		require.LessOrEqual(t, times.Reach, 1.0)
		if times.Reach > 0 && times.Max >= 0 {
			require.LessOrEqual(t, times.Quantile(0.99).Value, times.Max)
			require.LessOrEqual(t, times.Min, times.Quantile(0.01).Value)
		}
	}
}
