package controllers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/internal/dev/recording"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
)

// TestRecordings plays the scripts of the recordings with these controllers. It compares their
// writes, phase by phase, with the writes of the real controllers.
func TestRecordings(t *testing.T) {
	files, err := filepath.Glob("testdata/recordings/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	used, phases, played := make([]int, len(differences)), 0, 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			played++
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			want, err := recording.Parse(data)
			require.NoError(t, err)
			got, err := newRecordedCluster(t, "rec-"+name).record(want)
			require.NoError(t, err)
			for i, phase := range want.Phases {
				comparison{recording: name, kinds: want.Kinds, used: used}.require(t, phase, got.Phases[i])
			}
			phases += len(want.Phases)
		})
	}
	for i, d := range differences {
		require.True(t, used[i] > 0 || played < len(files), "nothing differs any more in %s %s: %s", d.kind, d.path, d.why)
	}
	t.Logf("%d phases are equal but for %d differences on purpose", phases, len(differences))
}

// A comparison compares one recording. It counts the differences that occurred.
type comparison struct {
	recording string
	kinds     []string
	used      []int
}

func (c comparison) require(t *testing.T, want, got recording.Phase) {
	t.Helper()
	text := func(objects []map[string]any, from side) string {
		objects = c.strip(objects, from)
		data, err := yaml.Marshal(objects)
		require.NoError(t, err)
		return string(data)
	}
	require.Equal(t, want.Answers, got.Answers, want.Name)
	require.Equal(t, text(want.Objects, real), text(got.Objects, ours), want.Name)
}

// strip removes intended differences, and sorts the objects again.
func (c comparison) strip(objects []map[string]any, from side) (stripped []map[string]any) {
	for _, obj := range objects {
		obj = runtime.DeepCopyJSON(obj)
		for i, d := range differences {
			if d.concerns(c.recording, obj) && d.of&from != 0 && d.cut(obj, strings.Split(d.path, "/")) {
				c.used[i]++
			}
		}
		stripped = append(stripped, obj)
	}
	recording.Sort(stripped, c.kinds)
	return stripped
}

// cut removes the field of a difference, and the maps that are empty then. It returns false without
// the field.
func (d difference) cut(v any, path []string) bool {
	switch v := v.(type) {
	case []any:
		found := false
		for _, e := range v {
			found = d.cut(e, path[1:]) || found
		}
		return found
	case map[string]any:
		return d.cutField(v, strings.ReplaceAll(path[0], "~1", "/"), path[1:])
	}
	return false
}

func (d difference) cutField(m map[string]any, name string, rest []string) bool {
	field, found := m[name]
	if len(rest) > 0 {
		found = found && d.cut(field, rest)
	} else if d.value != "" {
		found = found && d.value == jsonOf(field)
	}
	if child, ok := field.(map[string]any); found && (len(rest) == 0 || ok && len(child) == 0) {
		delete(m, name)
	}
	return found
}

func jsonOf(v any) string {
	data, _ := json.Marshal(v) // it was read from JSON
	return string(data)
}

// A recordedCluster is a cluster in which a recording is played, in a namespace.
type recordedCluster struct {
	*clustertest.Cluster
	namespace string
}

func newRecordedCluster(t *testing.T, namespace string) *recordedCluster {
	c := &recordedCluster{Cluster: clustertest.New(t, clustertest.Options{Pods: recording.Kubelet}), namespace: namespace}
	for i := range 2 {
		c.Load(fmt.Sprintf("{apiVersion: v1, kind: Node, metadata: {name: %s%d}}", recording.NodePrefix, i+1))
	}
	c.Load("{apiVersion: v1, kind: Namespace, metadata: {name: " + namespace + "}}")
	c.Settle()
	return c
}

func (c *recordedCluster) record(s recording.Script) (recording.Script, error) {
	return recording.New(c.Simulation.Cluster(), c.namespace, s).Record(context.Background(), c.wait)
}

// longest is how long a phase may take.
const longest = 80 * time.Second

// wait is a recording.WaitSettled in virtual time.
func (c *recordedCluster) wait(ctx context.Context, look func(context.Context) (recording.Progress, error)) error {
	end := c.Now().Add(longest)
	for {
		state, err := look(ctx)
		if err != nil {
			return err
		}
		next, more := c.Next()
		switch {
		case state.Done && (!more || next.Sub(c.Now()) > recording.QuietPeriod):
			return c.Simulation.Advance(ctx, recording.QuietPeriod)
		case !more || next.After(end):
			return fmt.Errorf("nothing more happens; the objects are %s", state.Objects)
		}
		if _, err := c.Step(ctx); err != nil {
			return err
		}
	}
}
