package simulation_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// anOwner creates ConfigMaps a, and three that it owns.
func anOwner(t *testing.T, sim *simulation.Simulation) {
	a := &unstructured.Unstructured{}
	a.SetGroupVersionKind(configMaps)
	a.SetNamespace("default")
	b := a.DeepCopy()
	a.SetName("a")
	a, err := sim.Cluster().Create(t.Context(), a, metav1.CreateOptions{})
	require.NoError(t, err)
	b.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "a", UID: a.GetUID(), BlockOwnerDeletion: new(true)}})
	for i := range 3 {
		b.SetName(fmt.Sprint("b", i))
		_, err := sim.Cluster().Create(t.Context(), b, metav1.CreateOptions{})
		require.NoError(t, err)
	}
}

func TestGarbageCollectionTakesTime(t *testing.T) {
	for policy, want := range map[metav1.DeletionPropagation][]string{
		metav1.DeletePropagationBackground: {"a 0s", "b0 1s", "b1 1.1s", "b2 1.2s"},
		metav1.DeletePropagationForeground: {"b0 1s", "b1 1.1s", "b2 1.2s", "a 1.3s"},
	} {
		t.Run(string(policy), func(t *testing.T) {
			o := simulation.Options{GarbageCollection: &simulation.GarbageCollection{Delay: time.Second, Each: 100 * time.Millisecond}}
			sim, err := simulation.New(stage.MustCompile(presets.PodFast()), o)
			require.NoError(t, err)
			anOwner(t, sim)
			start := sim.Now()
			var deleted []string
			require.NoError(t, sim.On(configMaps, func(_ context.Context, e watch.Event) error {
				if e.Type == watch.Deleted {
					deleted = append(deleted, fmt.Sprintf("%s %s", e.Object.(*unstructured.Unstructured).GetName(), sim.Now().Sub(start)))
				}
				return nil
			}))
			name := types.NamespacedName{Namespace: "default", Name: "a"}
			require.NoError(t, sim.Cluster().Delete(t.Context(), configMaps, name, metav1.DeleteOptions{PropagationPolicy: &policy}))
			settled, err := sim.Settle(t.Context(), time.Minute)
			require.NoError(t, err)
			require.True(t, settled)
			require.Equal(t, want, deleted)
		})
	}
}
