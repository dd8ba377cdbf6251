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

// TestVolumesGrow checks that the volume of a claim follows the size that the claim asks for, if its
// class allows that.
func TestVolumesGrow(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 1})
	c.Load(`{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: grows}, provisioner: x.io/p, allowVolumeExpansion: true}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fixed}, provisioner: x.io/p}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, spec: {storageClassName: grows, accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: b}, spec: {storageClassName: fixed, accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}}`)
	c.Settle()
	for name, want := range map[string]string{"a": "3Gi", "b": "2Gi"} {
		c.Patch("PersistentVolumeClaim", name, `{spec: {resources: {requests: {storage: 3Gi}}}}`) // without the admission, which refuses b
		c.Settle()
		require.Equal(t, want, c.Field("PersistentVolumeClaim", name, "status", "capacity", "storage"))
		require.Equal(t, want, c.Field("PersistentVolume", c.Field("PersistentVolumeClaim", name, "spec", "volumeName").(string), "spec", "capacity", "storage"))
	}
	require.Empty(t, c.Errors)
}

// TestEphemeralVolumes checks that the claim of an ephemeral volume is created and bound, that it is
// deleted with its Pod, and that a claim of another owner is not taken.
func TestEphemeralVolumes(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 1})
	pod := func(name string) string {
		return `{apiVersion: v1, kind: Pod, metadata: {name: ` + name + `}, spec: {containers: [{name: c, image: i}], volumes: [{name: scratch,
  ephemeral: {volumeClaimTemplate: {metadata: {labels: {of: scratch}}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}]}}`
	}
	c.Load(clustertest.Manifest("storageclass") + "\n---\n" + pod("p"))
	c.Settle()
	c.RequireCurrent("Pod", "p")
	claim := c.Get("PersistentVolumeClaim", "p-scratch")
	require.Equal(t, "Bound", c.Field("PersistentVolumeClaim", "p-scratch", "status", "phase"))
	require.Equal(t, map[string]string{"of": "scratch"}, claim.GetLabels())
	require.Equal(t, "p", claim.GetOwnerReferences()[0].Name)
	c.DeleteNow("Pod", "p")
	c.Settle()
	require.Empty(t, c.List("PersistentVolumeClaim", ""))
	require.Empty(t, c.Errors)

	c.Load(`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: q-scratch}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`)
	c.Load(pod("q"))
	c.Advance(1)
	require.NotEmpty(t, c.Errors)
	require.Contains(t, c.Errors[0], "ephemeral volume scratch: PVC default/q-scratch was not created for pod default/q (pod is not owner)")
}
