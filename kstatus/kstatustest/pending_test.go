package kstatustest_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
)

func TestCustomObjectsArePending(t *testing.T) {
	for name, conditions := range map[string][]any{
		"new":     nil,
		"ready":   {map[string]any{"type": "Ready", "status": "True"}, map[string]any{"type": "Synced", "status": "True"}},
		"stalled": {map[string]any{"type": "Ready", "status": "False"}, map[string]any{"type": "Stalled", "status": "True"}, map[string]any{"type": "Reconciling", "status": "False"}},
	} {
		for _, apiVersion := range []string{"example.com/v1", "helm.toolkit.fluxcd.io/v2"} {
			obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": "HelmRelease", "metadata": map[string]any{"name": "x", "generation": int64(2)}}}
			if conditions != nil {
				require.NoError(t, unstructured.SetNestedSlice(obj.Object, conditions, "status", "conditions"))
			}
			require.NoError(t, kstatustest.Make(obj, kstatustest.Pending, kstatustest.Options{}), name)
			require.Equal(t, kstatus.InProgress, kstatus.Standard().Compute(obj, obj.GetCreationTimestamp().Time).Status, name)
			require.Equal(t, kstatus.InProgress, kstatus.Extended().Compute(obj, obj.GetCreationTimestamp().Time).Status, name)
		}
	}
	argo := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": map[string]any{"name": "x"}}}
	require.ErrorContains(t, kstatustest.Make(argo, kstatustest.Pending, kstatustest.Options{}), "cannot be made Pending")
}
