package defaults

import (
	"flag"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/builtin"
)

var objects = flag.Int("objects", 40, "how many random objects of each kind are compared")

// TestDefaultsAreThoseOfKubernetes fills in random objects of each kind with ours and with theirs.
func TestDefaultsAreThoseOfKubernetes(t *testing.T) {
	compared, refused := 0, 0
	for _, kind := range kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			for seed := range uint64(*objects) {
				obj, err := object(kind, seed)
				require.NoError(t, err)
				theirs, err := Stored(obj)
				if err != nil {
					refused++
					continue
				}
				thinned := fmt.Sprint(obj)
				ours := builtin.Fill(obj, nil)
				require.Equal(t, thinned, fmt.Sprint(obj), "the object is not changed")
				filled, err := Canonical(ours)
				require.NoError(t, err)
				explain(theirs, filled)
				var differ differences
				cmp.Equal(theirs, filled, cmp.Reporter(&differ))
				require.Empty(t, differ.lines, "seed %d", seed)
				compared++
			}
		})
	}
	t.Logf("%d objects are the same, %d could not be converted", compared, refused)
	require.Greater(t, compared, 10*refused)
}

// explain removes from two objects the fields that package builtin leaves out. These are times at
// which an object is read, and the generation that the server's strategy for DaemonSets counts
// again. They are also the zeros that conversion writes into strategies and validation refuses.
func explain(objects ...map[string]any) {
	for _, obj := range objects {
		drop(obj, "metadata", "annotations", "deprecated.daemonset.template.generation")
		for _, strategy := range []string{"strategy", "updateStrategy"} {
			if kind, _, _ := unstructured.NestedString(obj, "spec", strategy, "type"); kind != "RollingUpdate" {
				drop(obj, "spec", strategy, "rollingUpdate")
			}
		}
		devices, _, _ := unstructured.NestedSlice(obj, "spec", "devices")
		for _, device := range devices {
			taints, _ := device.(map[string]any)["taints"].([]any)
			for _, taint := range taints {
				drop(taint.(map[string]any), "timeAdded")
			}
		}
		if devices != nil {
			obj["spec"].(map[string]any)["devices"] = devices
		}
	}
}

// drop removes a field, and a map that has become empty by that.
func drop(m map[string]any, path ...string) {
	if len(path) == 1 {
		delete(m, path[0])
		return
	}
	if next, is := m[path[0]].(map[string]any); is {
		if drop(next, path[1:]...); len(next) == 0 {
			delete(m, path[0])
		}
	}
}

// differences are the paths at which two objects differ.
type differences struct {
	path  cmp.Path
	lines []string
}

func (d *differences) PushStep(s cmp.PathStep) { d.path = append(d.path, s) }
func (d *differences) PopStep()                { d.path = d.path[:len(d.path)-1] }

func (d *differences) Report(r cmp.Result) {
	if !r.Equal() {
		theirs, ours := d.path.Last().Values()
		d.lines = append(d.lines, fmt.Sprintf("%#v: theirs %v, ours %v", d.path, theirs, ours))
	}
}
