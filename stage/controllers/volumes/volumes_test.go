package volumes_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/clustertest"
)

func TestClaimsAreBound(t *testing.T) {
	l := clustertest.New(t, clustertest.Options{Nodes: 1})
	l.Load(clustertest.Manifest("storageclass") + `
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: cache}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}}`)
	l.Settle()
	require.Equal(t, "Pending", l.Field("PersistentVolumeClaim", "cache", "status", "phase"), "no Pod wants it yet")
	require.Equal(t, "standard", l.Field("PersistentVolumeClaim", "cache", "spec", "storageClassName"))

	l.Load(`{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}], volumes: [{name: v, persistentVolumeClaim: {claimName: cache}}]}}`)
	l.Settle()
	l.RequireCurrent("Pod", "p")
	l.RequireStatus("PersistentVolumeClaim", "cache", `{phase: Bound, accessModes: [ReadWriteOnce], capacity: {storage: 2Gi}}`)
	volume := l.List("PersistentVolume", "")[0]
	l.RequireStatus("PersistentVolume", volume.GetName(), `{phase: Bound, lastPhaseTransitionTime: "2026-01-01T00:00:00Z"}`)

	l.Delete("PersistentVolumeClaim", "cache")
	l.Settle()
	require.Empty(t, l.List("PersistentVolume", ""), "what was made for a claim goes with it")
	require.Empty(t, l.Errors)
}

func TestTheSmallestVolumeIsTaken(t *testing.T) {
	l := clustertest.New(t, clustertest.Options{Nodes: 1})
	for name, size := range map[string]string{"a": "1Gi", "b": "5Gi", "c": "3Gi", "d": "4Gi"} {
		l.Load(`{apiVersion: v1, kind: PersistentVolume, metadata: {name: ` + name + `}, spec: {accessModes: [ReadWriteOnce], capacity: {storage: ` + size + `}}}`)
	}
	l.Load(`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}}`)
	l.Settle()
	require.Equal(t, "c", l.Field("PersistentVolumeClaim", "x", "spec", "volumeName"))
	require.Equal(t, "Available", l.Field("PersistentVolume", "b", "status", "phase"))
	l.Load(`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: shared}, spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}}`)
	l.Settle()
	require.Equal(t, "Pending", l.Field("PersistentVolumeClaim", "shared", "status", "phase"))
	l.Delete("PersistentVolumeClaim", "x")
	l.Settle()
	require.Equal(t, "Released", l.Field("PersistentVolume", "c", "status", "phase"))
	l.Load(`{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}], volumes: [{name: v, persistentVolumeClaim: {claimName: shared}}]}}`)
	l.Settle()
	require.Contains(t, l.Status("Pod", "p"), "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.")
}
