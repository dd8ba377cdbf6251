package testing_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const site = `{apiVersion: example.com/v1, kind: Website, metadata: {name: home}, spec: {version: v1, replicas: 2}}`

func TestAWebsiteBecomesReady(t *testing.T) {
	lab, c := newLab(t)
	lab.Apply(site)
	lab.WaitCurrent()
	var d appsv1.Deployment
	require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "home"}, &d))
	require.EqualValues(t, 2, d.Status.AvailableReplicas)

	d.Spec.Replicas = new(int32(7)) // somebody meddles
	require.NoError(t, c.Update(t.Context(), &d))
	lab.Settle()
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(&d), &d))
	require.EqualValues(t, 2, d.Status.AvailableReplicas)

	require.NoError(t, c.Delete(t.Context(), &d))
	lab.Settle()
	lab.WaitCurrent(&d) // it is there again
}
