package presets_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/internal/dev/conformance/record"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

const corpus = "../../../shared/conformance/stage"

// TestPresetsAgreeWithTheReference plays the presets on the inputs that were recorded with the
// Stages of kwok.
func TestPresetsAgreeWithTheReference(t *testing.T) {
	suites := map[string]stage.Source{
		"kwok-node-fast":                 presets.NodeFast(),
		"kwok-node-heartbeat":            presets.NodeHeartbeat(),
		"kwok-node-heartbeat-with-lease": presets.NodeHeartbeatWithLease(),
		"kwok-node-chaos":                presets.NodeChaos(),
		"kwok-pod-fast":                  presets.PodFast(),
		"kwok-pod-general":               presets.PodGeneral(),
		"kwok-pod-chaos":                 presets.PodChaos(),
		"kwok-volume-fast":               presets.Volumes(),
	}
	if _, err := os.Stat(corpus); err != nil {
		t.Skip("the recorded cases are not beside this repository: ", err)
	}
	for suite, source := range suites {
		set, err := stage.Compile(stage.Options{Funcs: record.Placeholders()}, source)
		require.NoError(t, err)
		inputs, err := filepath.Glob(filepath.Join(corpus, suite, "*.input.yaml"))
		require.NoError(t, err)
		require.NotEmpty(t, inputs, suite)
		for _, input := range inputs {
			name := strings.TrimSuffix(input, ".input.yaml")
			t.Run(suite+"/"+filepath.Base(name), func(t *testing.T) {
				got, err := record.Outcome(set, &unstructured.Unstructured{Object: read(t, input)})
				require.NoError(t, err)
				require.Empty(t, record.Diff(read(t, name+".output.yaml"), got))
			})
		}
	}
}

func read(t *testing.T, file string) map[string]any {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return object(t, string(data))
}

// object reads YAML as an API client does.
func object(t *testing.T, text string) map[string]any {
	var m map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(text), &m))
	return record.Integers(m).(map[string]any)
}
