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
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/clustertest"
)

// untold are the recordings whose stories these controllers cannot play.
var untold = map[string]string{
	"deployment-quota": "stage/memory has no quotas; see TestTheRecordingWithAQuota",
	"namespace":        "stage/memory deletes what is in a namespace itself, and does not say how far it is",
}

// TestRecordings tells the stories of the recordings to these controllers and compares what they write, phase by phase, with what the real ones wrote.
func TestRecordings(t *testing.T) {
	files, err := filepath.Glob("testdata/recordings/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	used, phases, told := make([]int, len(differences)), 0, 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			told++
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			want, err := recording.Parse(data)
			require.NoError(t, err)
			got, err := newTheatre(t, "rec-"+name).tell(want)
			if why, ok := untold[name]; ok {
				require.Error(t, err, "it can be told now, although %s", why)
				return
			}
			require.NoError(t, err)
			for i, phase := range want.Phases {
				comparison{story: name, kinds: want.Kinds, used: used}.require(t, phase, got.Phases[i])
			}
			phases += len(want.Phases)
		})
	}
	for i, d := range differences {
		require.True(t, used[i] > 0 || told < len(files), "nothing differs any more in %s %s: %s", d.kind, d.path, d.why)
	}
	t.Logf("%d phases are equal but for %d differences on purpose", phases, len(differences))
}

// A comparison is that of one story. It counts which of the differences it met.
type comparison struct {
	story string
	kinds []string
	used  []int
}

func (c comparison) require(t *testing.T, want, got recording.Phase) {
	t.Helper()
	text := func(objects []map[string]any, from side) string {
		objects = c.strip(objects, from)
		data, err := yaml.Marshal(objects)
		require.NoError(t, err)
		return string(data)
	}
	require.Equal(t, text(want.Objects, real), text(got.Objects, ours), want.Name)
}

// strip takes away what differs on purpose, and puts the objects in order again.
func (c comparison) strip(objects []map[string]any, from side) (stripped []map[string]any) {
	for _, obj := range objects {
		obj = runtime.DeepCopyJSON(obj)
		for i, d := range differences {
			if d.concerns(c.story, obj) && d.of&from != 0 && d.cut(obj, strings.Split(d.path, "/")) {
				c.used[i]++
			}
		}
		stripped = append(stripped, obj)
	}
	recording.Sort(stripped, c.kinds)
	return stripped
}

// cut takes the field away, and the maps that have nothing left by it. It is false if there is none.
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

// A theatre is a lab in which scripts are told.
type theatre struct {
	*clustertest.Cluster
	namespace string
}

func newTheatre(t *testing.T, namespace string) *theatre {
	th := &theatre{lab: clustertest.New(t, clustertest.Options{Pods: recording.Kubelet}), namespace: namespace}
	for i := range 2 {
		th.load(fmt.Sprintf("{apiVersion: v1, kind: Node, metadata: {name: %s%d}}", recording.NodePrefix, i+1))
	}
	th.load("{apiVersion: v1, kind: Namespace, metadata: {name: " + namespace + "}}")
	th.settle()
	return th
}

func (th *theatre) tell(s recording.Script) (recording.Script, error) {
	return recording.New(th.sim.Cluster(), th.namespace, s).Record(context.Background(), th.wait)
}

// longest is how long a phase may take.
const longest = 80 * time.Second

// wait is a recording.Settle in virtual time.
func (th *theatre) wait(ctx context.Context, look func(context.Context) (recording.State, error)) error {
	end := th.sim.Now().Add(longest)
	for {
		state, err := look(ctx)
		if err != nil {
			return err
		}
		next, more := th.sim.Next()
		switch {
		case state.Holds && (!more || next.Sub(th.sim.Now()) > recording.Quiet):
			return th.sim.Advance(ctx, recording.Quiet)
		case !more || next.After(end):
			return fmt.Errorf("nothing more happens; the objects are %s", state.Objects)
		}
		if _, err := th.sim.Step(ctx); err != nil {
			return err
		}
	}
}
