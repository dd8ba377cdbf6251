package workloads_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
)

func TestADeploymentRollsOut(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 3})
	c.Load(clustertest.Manifest("deployment"))
	c.Settle()
	sets := c.List("ReplicaSet", "app=web")
	require.Len(t, sets, 1)
	c.RequireStatus("Deployment", "web", `
availableReplicas: 3
conditions:
- lastTransitionTime: "2026-01-01T00:00:00Z"
  lastUpdateTime: "2026-01-01T00:00:00Z"
  message: Deployment has minimum availability.
  reason: MinimumReplicasAvailable
  status: "True"
  type: Available
- lastTransitionTime: "2026-01-01T00:00:00Z"
  lastUpdateTime: "2026-01-01T00:00:00Z"
  message: 'ReplicaSet "`+sets[0].GetName()+`" has successfully progressed.'
  reason: NewReplicaSetAvailable
  status: "True"
  type: Progressing
observedGeneration: 1
readyReplicas: 3
replicas: 3
terminatingReplicas: 0
updatedReplicas: 3
`)
	c.RequireStatus("ReplicaSet", sets[0].GetName(), `
{availableReplicas: 3, fullyLabeledReplicas: 3, observedGeneration: 1, readyReplicas: 3, replicas: 3, terminatingReplicas: 0}`)
	require.Equal(t, map[string]string{
		"team": "blue", "deployment.kubernetes.io/revision": "1", "deployment.kubernetes.io/desired-replicas": "3", "deployment.kubernetes.io/max-replicas": "4",
	}, sets[0].GetAnnotations())
	require.Equal(t, "1", c.Get("Deployment", "web").GetAnnotations()["deployment.kubernetes.io/revision"])
	c.RequireCurrent("Deployment", "web")
	c.RequireCurrent("ReplicaSet", sets[0].GetName())
	for _, p := range c.List("Pod", "app=web") {
		c.RequireCurrent("Pod", p.GetName())
	}
	require.Empty(t, c.Errors)

	c.Patch("Deployment", "web", `{spec: {template: {spec: {containers: [{name: c, image: "i:2"}]}}}}`)
	c.Advance(time.Minute)
	c.RequireCurrent("Deployment", "web")
	require.Len(t, c.List("ReplicaSet", ""), 2)
	require.Len(t, c.List("Pod", "app=web"), 3)
	require.Equal(t, "2", c.Get("Deployment", "web").GetAnnotations()["deployment.kubernetes.io/revision"])
	require.Empty(t, c.Errors)
}

// TestAStatusWrittenByHandIsPutRight: as of the real controllers, whose informers tell them.
func TestAStatusWrittenByHandIsPutRight(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 3})
	c.Load(clustertest.Manifest("deployment"))
	c.Settle()
	set := c.List("ReplicaSet", "app=web")[0].GetName()
	for kind, name := range map[string]string{"Deployment": "web", "ReplicaSet": set} {
		before := c.Status(kind, name)
		c.Patch(kind, name, `{status: {replicas: 77, readyReplicas: 5}}`, "status")
		c.Settle()
		c.RequireStatus(kind, name, before)
	}
}
