package volumes_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
)

func TestClaimsAreBound(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 1})
	c.Load(clustertest.Manifest("storageclass") + `
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: cache}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}}`)
	c.Settle()
	require.Equal(t, "Pending", c.Field("PersistentVolumeClaim", "cache", "status", "phase"), "no Pod wants it yet")
	require.Equal(t, "standard", c.Field("PersistentVolumeClaim", "cache", "spec", "storageClassName"))

	c.Load(`{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}],
  volumes: [{name: v, persistentVolumeClaim: {claimName: cache}}]}}`)
	c.Settle()
	c.RequireCurrent("Pod", "p")
	c.RequireStatus("PersistentVolumeClaim", "cache", `{phase: Bound, accessModes: [ReadWriteOnce], capacity: {storage: 2Gi}}`)
	volume := c.List("PersistentVolume", "")[0]
	c.RequireStatus("PersistentVolume", volume.GetName(), `{phase: Bound, lastPhaseTransitionTime: "2026-01-01T00:00:00Z"}`)

	c.Delete("PersistentVolumeClaim", "cache")
	c.Settle()
	require.NotNil(t, c.Get("PersistentVolumeClaim", "cache").GetDeletionTimestamp(), "the Pod uses it")
	c.Delete("Pod", "p")
	c.Settle()
	require.Empty(t, c.List("PersistentVolumeClaim", ""))
	require.Empty(t, c.List("PersistentVolume", ""), "what was made for a claim goes with it")
	require.Empty(t, c.Errors)
}

func TestTheSmallestVolumeIsTaken(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 1})
	for name, size := range map[string]string{"a": "1Gi", "b": "5Gi", "c": "3Gi", "d": "4Gi"} {
		c.Load(`{apiVersion: v1, kind: PersistentVolume, metadata: {name: ` + name + `}, spec: {accessModes: [ReadWriteOnce], capacity: {storage: ` + size + `}}}`)
	}
	c.Load(`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}}`)
	c.Settle()
	require.Equal(t, "c", c.Field("PersistentVolumeClaim", "x", "spec", "volumeName"))
	require.Equal(t, "Available", c.Field("PersistentVolume", "b", "status", "phase"))
	c.Load(`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: shared}, spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}}`)
	c.Settle()
	require.Equal(t, "Pending", c.Field("PersistentVolumeClaim", "shared", "status", "phase"))
	c.Delete("PersistentVolumeClaim", "x")
	c.Settle()
	require.Equal(t, "Released", c.Field("PersistentVolume", "c", "status", "phase"))
	c.Load(`{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}],
  volumes: [{name: v, persistentVolumeClaim: {claimName: shared}}]}}`)
	c.Settle()
	require.Contains(t, c.Status("Pod", "p"), "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.")
}
