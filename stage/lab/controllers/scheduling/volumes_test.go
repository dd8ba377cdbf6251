package scheduling_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
)

// volume is one of a CSI driver with its claim, which is bound.
func volume(name, more, mode string) string {
	return fmt.Sprintf(`
{apiVersion: v1, kind: PersistentVolume, metadata: {name: %[1]s, %[2]s}, spec: {storageClassName: fast, accessModes: [%[3]s],
  capacity: {storage: 1Gi}, csi: {driver: csi.example.com, volumeHandle: %[1]s}, claimRef: {namespace: default, name: %[1]s}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: %[1]s, annotations: {pv.kubernetes.io/bind-completed: "yes"}},
  spec: {storageClassName: fast, accessModes: [%[3]s], volumeName: %[1]s, resources: {requests: {storage: 1Gi}}}, status: {phase: Bound}}
`, name, more, mode)
}

func mounting(claim, more string) string {
	return fmt.Sprintf("volumes: [{name: v, persistentVolumeClaim: {claimName: %s}}], %s %s", claim, more, clustertest.SmallPod)
}

func TestVolumesOfANodeAreCounted(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 1})
	c.Load(`
apiVersion: storage.k8s.io/v1
kind: CSINode
metadata: {name: node-000}
spec: {drivers: [{name: csi.example.com, nodeID: a, allocatable: {count: 2}}]}
`)
	c.Load(volume("detaching", "", "ReadWriteOnce"))
	c.Load(`
apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata: {name: old}
spec: {attacher: csi.example.com, nodeName: node-000, source: {persistentVolumeName: detaching}}
`)
	for _, name := range []string{"a", "b"} {
		c.Load(volume(name, "", "ReadWriteOnce"))
		c.Load(clustertest.Pod(name, mounting(name, "")))
		c.Settle()
	}
	require.Equal(t, "node-000", c.Field("Pod", "a", "spec", "nodeName"))
	require.Contains(t, c.Message("Pod", "b", "PodScheduled"), "1 node(s) exceed max volume count.")
	c.Load(clustertest.Pod("shares", mounting("a", "")))
	c.Settle()
	require.Equal(t, "node-000", c.Field("Pod", "shares", "spec", "nodeName"), "the volume is attached already")
	c.Delete("VolumeAttachment", "old")
	c.Settle()
	require.Equal(t, "node-000", c.Field("Pod", "b", "spec", "nodeName"))
}

func TestTwoPodsDoNotWriteToOneDisk(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 1})
	disk := func(readOnly bool) string {
		return fmt.Sprintf("volumes: [{name: v, iscsi: {targetPortal: a, lun: 0, iqn: disk, readOnly: %v}}], %s", readOnly, clustertest.SmallPod)
	}
	c.Load(clustertest.Pod("reads", disk(true)))
	c.Load(clustertest.Pod("reads-too", disk(true)))
	c.Load(clustertest.Pod("writes", disk(false)))
	c.Settle()
	require.Equal(t, "node-000", c.Field("Pod", "reads-too", "spec", "nodeName"))
	require.Contains(t, c.Message("Pod", "writes", "PodScheduled"), "1 node(s) had no available disk.")
}

func TestAVolumeKeepsPodsInItsZone(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 2})
	for i, zone := range []string{"x", "y"} {
		c.Patch("Node", fmt.Sprintf("node-%03d", i), fmt.Sprintf(`{metadata: {labels: {topology.kubernetes.io/zone: zone-%s}}}`, zone))
	}
	c.Load(volume("a", "labels: {topology.kubernetes.io/zone: zone-y}", "ReadWriteOnce"))
	c.Load(volume("b", "labels: {topology.kubernetes.io/zone: zone-z}", "ReadWriteOnce"))
	c.Load(clustertest.Pod("a", mounting("a", "")))
	c.Load(clustertest.Pod("b", mounting("b", "")))
	c.Settle()
	require.Equal(t, "node-001", c.Field("Pod", "a", "spec", "nodeName"))
	require.Contains(t, c.Message("Pod", "b", "PodScheduled"), "2 node(s) had no available volume zone.")
}

// TestAClaimForOnePodIsTakenOver: by preemption.
func TestAClaimForOnePodIsTakenOver(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 1})
	c.Load(volume("a", "", "ReadWriteOncePod"))
	c.Load(clustertest.Pod("first", mounting("a", "")))
	c.Settle()
	c.Load(clustertest.Pod("second", mounting("a", "")))
	c.Settle()
	require.Contains(t, c.Message("Pod", "second", "PodScheduled"), "ReadWriteOncePod access mode already in-use by another pod.")
	c.Load(clustertest.Pod("urgent", mounting("a", "priority: 10,")))
	c.Settle()
	require.Equal(t, "node-000", c.Field("Pod", "urgent", "spec", "nodeName"))
}

// TestClaimsGoWhereThereIsRoom is about a driver that reports its capacity.
func TestClaimsGoWhereThereIsRoom(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 2})
	c.Load(`
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: wait}, provisioner: csi.example.com, volumeBindingMode: WaitForFirstConsumer}
---
{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: csi.example.com}, spec: {storageCapacity: true}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, spec: {storageClassName: wait, accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}}
---
{apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, metadata: {name: everywhere}, storageClassName: wait, nodeTopology: {}, capacity: 5Gi, maximumVolumeSize: 1Gi}
---
{apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, metadata: {name: other}, storageClassName: other, nodeTopology: {}, capacity: 5Gi}
---
{apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, metadata: {name: one}, storageClassName: wait, capacity: 1Gi,
  nodeTopology: {matchLabels: {kubernetes.io/hostname: node-001}}}
`)
	c.Load(clustertest.Pod("p", mounting("a", "")))
	c.Settle()
	require.Contains(t, c.Message("Pod", "p", "PodScheduled"), "2 node(s) did not have enough free storage.")
	c.Patch("CSIStorageCapacity", "one", "{capacity: 3Gi}")
	c.Settle()
	require.Equal(t, "node-001", c.Field("PersistentVolumeClaim", "a", "metadata", "annotations", "volume.kubernetes.io/selected-node"))
}

// TestBindingGivesUpAfterTenMinutes: no provisioner provides the volume.
func TestBindingGivesUpAfterTenMinutes(t *testing.T) {
	l := newLine(t)
	l.at(0, node("n0", "4"))
	l.at(0, "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: slow}, provisioner: example.com/disk, volumeBindingMode: WaitForFirstConsumer}")
	l.at(0, "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, spec: {storageClassName: slow, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}")
	l.at(time.Second, pod("p", "1", "volumes: [{name: v, persistentVolumeClaim: {claimName: a}}],"))
	l.advance(10 * time.Minute)
	require.Equal(t, "n0", l.status("p")["nominatedNodeName"])
	l.advance(time.Minute)
	require.Nil(t, l.status("p")["nominatedNodeName"])
	condition := l.status("p")["conditions"].([]any)[0].(map[string]any)
	require.Equal(t, "SchedulerError", condition["reason"])
	require.Equal(t, `running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded`, condition["message"])
	settled, err := l.sim.Settle(t.Context(), time.Hour)
	require.NoError(t, err)
	require.True(t, settled)
}
