package memory_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

var budgetKind = schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}

const guarded = `
{apiVersion: v1, kind: Pod, metadata: {name: web, labels: {app: web}}, spec: {nodeName: node-1}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: other}, spec: {nodeName: node-1}, status: {phase: Running}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}}
`

// TestEvictions has the evictions that need no controller. The others are in the recordings of
// stage/lab/controllers.
func TestEvictions(t *testing.T) {
	web := types.NamespacedName{Namespace: "default", Name: "web"}
	for name, want := range map[string]struct{ status, cause string }{
		"not seen yet":        {`{}`, "The disruption budget web is still being processed by the server."},
		"between two syncs":   {`{observedGeneration: 1, currentHealthy: 3, desiredHealthy: 2, disruptionsAllowed: 0}`, "The disruption budget web does not allow evicting pods currently"},
		"too few":             {`{observedGeneration: 1, currentHealthy: 1, desiredHealthy: 2}`, "The disruption budget web needs 2 healthy pods and has 1 currently"},
		"it cannot be synced": {`{observedGeneration: 1, conditions: [{type: DisruptionAllowed, status: "False", reason: SyncFailed, message: why}]}`, "The disruption budget web does not allow evicting pods currently because it failed sync: why"},
	} {
		t.Run(name, func(t *testing.T) {
			c := memory.New(memory.Options{})
			require.NoError(t, c.Load(t.Context(), []byte(guarded)))
			_, err := c.Patch(t.Context(), budgetKind, web, types.MergePatchType, toJSON(t, "{status: "+want.status+"}"), metav1.PatchOptions{}, "status")
			require.NoError(t, err)
			err = c.Evict(t.Context(), web, metav1.DeleteOptions{})
			require.True(t, apierrors.IsTooManyRequests(err), err)
			require.True(t, apierrors.HasStatusCause(err, "DisruptionBudget"))
			require.Equal(t, want.cause, err.(apierrors.APIStatus).Status().Details.Causes[0].Message)
		})
	}
}

func TestAnEvictionSpendsTheBudget(t *testing.T) {
	c := memory.New(memory.Options{})
	require.NoError(t, c.Load(t.Context(), []byte(guarded)))
	web := types.NamespacedName{Namespace: "default", Name: "web"}
	_, err := c.Patch(t.Context(), budgetKind, web, types.MergePatchType, []byte(`{"status": {"observedGeneration": 1, "currentHealthy": 2, "desiredHealthy": 1, "disruptionsAllowed": 1}}`), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	require.NoError(t, c.Evict(t.Context(), web, metav1.DeleteOptions{DryRun: []string{"All"}}))
	require.NoError(t, c.Evict(t.Context(), web, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
	budget, err := c.Get(t.Context(), budgetKind, web)
	require.NoError(t, err)
	status := budget.Object["status"].(map[string]any)
	require.EqualValues(t, 0, status["disruptionsAllowed"])
	require.Contains(t, status["disruptedPods"], "web")
	require.True(t, apierrors.IsNotFound(c.Evict(t.Context(), web, metav1.DeleteOptions{})))
	require.NoError(t, c.Evict(t.Context(), types.NamespacedName{Namespace: "default", Name: "other"}, metav1.DeleteOptions{}))
	other, err := c.Get(t.Context(), pods, types.NamespacedName{Namespace: "default", Name: "other"})
	require.NoError(t, err)
	require.Equal(t, "EvictionByEvictionAPI", other.Object["status"].(map[string]any)["conditions"].([]any)[0].(map[string]any)["reason"])
	require.NotNil(t, other.GetDeletionTimestamp())
}

func toJSON(t *testing.T, text string) []byte {
	data, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	return data
}
