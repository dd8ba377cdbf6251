package scheduling_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
)

const classes = `
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: urgent}, value: 1000}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: polite}, value: 1000, preemptionPolicy: Never}
`

const half = `containers: [{name: c, image: i, resources: {requests: {cpu: "16"}}}]`

func TestAPodPreemptsByItsPriorityClass(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 1})
	c.Load(classes)
	c.Load(clustertest.Pod("a", half))
	c.Load(clustertest.Pod("b", half))
	c.Settle()
	c.Load(clustertest.Pod("polite", "priorityClassName: polite, "+half))
	c.Settle()
	require.Equal(t, "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "+
		"preemption: not eligible due to preemptionPolicy=Never.", c.Message("Pod", "polite", "PodScheduled"))
	c.Load(clustertest.Pod("urgent", "priorityClassName: urgent, "+half))
	c.Settle()
	require.Equal(t, "node-000", c.Field("Pod", "urgent", "spec", "nodeName"))
	require.Nil(t, c.Field("Pod", "urgent", "status", "nominatedNodeName"))
	require.Len(t, c.List("Pod", ""), 3, "one was preempted")
	require.Empty(t, c.Errors)
}

func TestAnUnknownPriorityClassIsReported(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 1})
	c.Load(clustertest.Pod("p", "priorityClassName: typo, "+half))
	c.Settle()
	require.Equal(t, "no PriorityClass with name typo was found", c.Message("Pod", "p", "PodScheduled"))
	c.Load(`{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: typo}, value: 1}`)
	c.Settle()
	require.Equal(t, "node-000", c.Field("Pod", "p", "spec", "nodeName"))
}

func TestResourceClaimsAreReported(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 1})
	c.Load(clustertest.Pod("p", "resourceClaims: [{name: gpu, resourceClaimName: gpu}], "+half))
	c.Settle()
	require.Contains(t, c.Message("Pod", "p", "PodScheduled"), "stagecraft does not model dynamic resource allocation")
}

// TestAnEphemeralVolumeWaitsForItsClaim: a quota keeps the claim from being created.
func TestAnEphemeralVolumeWaitsForItsClaim(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 1})
	c.Load(`{apiVersion: v1, kind: ResourceQuota, metadata: {name: none}, spec: {hard: {persistentvolumeclaims: "0"}}}`)
	c.Settle()
	c.Load(clustertest.Pod("p", "volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {}}}}], "+half))
	c.Settle()
	require.Contains(t, c.Message("Pod", "p", "PodScheduled"), `waiting for ephemeral volume controller to create the persistentvolumeclaim "p-v"`)
}

// TestAClaimIsBoundWhereItsClassAllows: the class allows one zone, and an existing volume is in one
// zone.
func TestAClaimIsBoundWhereItsClassAllows(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 3})
	for i, zone := range []string{"zone-x", "zone-y", "zone-z"} {
		c.Patch("Node", fmt.Sprintf("node-%03d", i), fmt.Sprintf(`{metadata: {labels: {topology.kubernetes.io/zone: %s}}}`, zone))
	}
	c.Load(`
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: zonal}
provisioner: example.com/disk
volumeBindingMode: WaitForFirstConsumer
allowedTopologies: [{matchLabelExpressions: [{key: topology.kubernetes.io/zone, values: [zone-y]}]}]
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: local}, provisioner: kubernetes.io/no-provisioner, volumeBindingMode: WaitForFirstConsumer}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec:
  storageClassName: local
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [zone-z]}]}]}}
`)
	for _, class := range []string{"zonal", "local"} {
		c.Load(fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: %s}
spec: {storageClassName: %s, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`, class, class))
		c.Load(clustertest.Pod(class, fmt.Sprintf("volumes: [{name: v, persistentVolumeClaim: {claimName: %s}}], %s", class, clustertest.SmallPod)))
	}
	c.Settle()
	require.Equal(t, "node-001", c.Field("Pod", "zonal", "spec", "nodeName"))
	require.Equal(t, "node-002", c.Field("Pod", "local", "spec", "nodeName"))
	require.Equal(t, "disk", c.Field("PersistentVolumeClaim", "local", "spec", "volumeName"))
	require.Empty(t, c.Errors)
}

// TestAnUnschedulablePodLetsTheClusterSettle: nothing changes, so nothing is tried again.
func TestAnUnschedulablePodLetsTheClusterSettle(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 1})
	c.Load(clustertest.Pod("p", `containers: [{name: c, image: i, resources: {requests: {cpu: "64"}}}]`))
	settled, err := c.Simulation.Settle(t.Context(), time.Hour)
	require.NoError(t, err)
	require.True(t, settled)
}
