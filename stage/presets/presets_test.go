package presets_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

func Example() {
	set, err := stage.Compile(stage.Options{}, presets.NodeFast(), presets.NodeHeartbeat(), presets.PodGeneral())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, kind := range set.Kinds() {
		for _, name := range set.Stages(kind) {
			fmt.Println(kind.Kind, name)
		}
	}
	// Output:
	// Node node-initialize
	// Node node-heartbeat
	// Pod pod-create
	// Pod pod-init-container-running
	// Pod pod-init-container-completed
	// Pod pod-ready
	// Pod pod-complete
	// Pod pod-delete
}

func ExampleVolumes() {
	for _, obj := range presets.Volumes().OtherObjects() {
		fmt.Println(obj.GetKind(), obj.GetName())
	}
	// Output: StorageClass kwok-volume
}

func TestPresetsCompileWithoutWarnings(t *testing.T) {
	common := []stage.Source{
		presets.NodeFast(), presets.NodeHeartbeat(), presets.NodeHeartbeatWithLease(), presets.NodeChaos(),
		presets.PodChaos(), presets.Volumes(),
	}
	sets := map[string][]stage.Source{
		"node-fast alone":                   {presets.NodeFast()},
		"node-heartbeat alone":              {presets.NodeHeartbeat()},
		"node-heartbeat-with-lease alone":   {presets.NodeHeartbeatWithLease()},
		"node-chaos alone":                  {presets.NodeChaos()},
		"pod-fast alone":                    {presets.PodFast()},
		"pod-general alone":                 {presets.PodGeneral()},
		"pod-chaos alone":                   {presets.PodChaos()},
		"volumes alone":                     {presets.Volumes()},
		"all together, pods by pod-fast":    append([]stage.Source{presets.PodFast()}, common...),
		"all together, pods by pod-general": append([]stage.Source{presets.PodGeneral()}, common...),
	}
	for name, sources := range sets {
		t.Run(name, func(t *testing.T) {
			set, err := stage.Compile(stage.Options{}, sources...)
			require.NoError(t, err)
			require.Empty(t, set.Warnings())
			require.NotEmpty(t, set.Kinds())
		})
	}
}

func TestPodFastAndPodGeneralExcludeEachOther(t *testing.T) {
	_, err := stage.Compile(stage.Options{}, presets.PodFast(), presets.PodGeneral())
	require.ErrorContains(t, err, `presets/pod-general.yaml`)
	require.ErrorContains(t, err, `stage "pod-ready"`)
}

func TestPresetsCanBeTakenApart(t *testing.T) {
	set, err := stage.Compile(stage.Options{}, stage.FromStages(presets.PodGeneral().Stages()[:1]...), presets.PodChaos())
	require.NoError(t, err)
	require.Equal(t, []string{"pod-create", "pod-container-running-failed", "pod-init-container-running-failed"},
		set.Stages(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}))
}
