package labtest_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A situation is a status that a function in tests of controllers writes to make a workload ready
// by hand.
type situation struct {
	Name   string         `json:"name"`
	Kind   string         `json:"kind"`
	Status map[string]any `json:"status"`
	Unsent bool           `json:"unsent"` // it is sent with the object, which ignores it
	Lacks  []string       `json:"lacks"`  // the missing part; nil: nothing is missing

	manifest string // as JSON
}

// situations reads testdata/situations.yaml.
func situations(t *testing.T) []situation {
	t.Helper()
	data, err := os.ReadFile("testdata/situations.yaml")
	require.NoError(t, err)
	var file struct {
		Manifests  map[string]json.RawMessage `json:"manifests"`
		Situations []situation                `json:"situations"`
	}
	require.NoError(t, yaml.UnmarshalStrict(data, &file))
	require.Len(t, file.Situations, 18)
	for i, s := range file.Situations {
		require.Contains(t, file.Manifests, s.Kind)
		file.Situations[i].manifest = string(file.Manifests[s.Kind])
	}
	return file.Situations
}

// byHand returns the object with the status that was written, as an API server stores it.
func (s situation) byHand(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	cluster := memory.New(memory.Options{})
	obj := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(s.manifest), &obj.Object))
	obj.SetNamespace("default")
	obj, err := cluster.Create(t.Context(), obj, metav1.CreateOptions{})
	require.NoError(t, err)
	obj.Object["status"] = s.Status
	var subresources []string
	if !s.Unsent {
		subresources = []string{"status"}
	}
	obj, err = cluster.Update(t.Context(), obj, metav1.UpdateOptions{}, subresources...)
	require.NoError(t, err)
	return obj
}

func TestSituations(t *testing.T) {
	for _, s := range situations(t) {
		t.Run(s.Kind+"/"+s.Name, func(t *testing.T) {
			obj := s.byHand(t)
			standard := kstatus.Standard().Compute(obj, obj.GetCreationTimestamp().Time).Status
			lacks := kstatustest.Check(obj)
			if s.Lacks == nil {
				require.NoError(t, lacks)
				require.Equal(t, kstatus.Current, standard)
			} else {
				require.Error(t, lacks)
			}
			for _, what := range s.Lacks {
				require.ErrorContains(t, lacks, what)
				require.NotEqual(t, kstatus.Current, standard, "it is not only the extended profile that wants more")
			}
			require.NoError(t, kstatustest.MakeCurrent(obj))
			labtest.RequireCurrent(t, obj)
		})
	}
}

// TestSituationsInTheLab makes the same workloads ready by a lab instead.
func TestSituationsInTheLab(t *testing.T) {
	for _, s := range situations(t) {
		t.Run(s.Kind+"/"+s.Name, func(t *testing.T) {
			lab := labtest.New(t, labtest.Options{})
			lab.Apply(s.manifest)
			lab.WaitCurrent()
			lab.Settle()
			obj := lab.Get(s.byHand(t).GetAPIVersion(), s.Kind, "web")
			labtest.RequireCurrent(t, obj)
			for profile, rules := range map[string]*kstatus.Rules{"standard": kstatus.Standard(), "extended": kstatus.Extended()} {
				require.Equal(t, kstatus.Current, rules.Compute(obj, lab.Now()).Status, profile)
			}
		})
	}
}
