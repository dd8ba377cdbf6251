package controllers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}, annotations: {team: blue}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "i:1"}]}
`

func TestADeploymentRollsOut(t *testing.T) {
	l := newLab(t, setting{nodes: 3})
	l.load(web)
	l.settle()
	sets := l.list("ReplicaSet", "app=web")
	require.Len(t, sets, 1)
	l.requireStatus("Deployment", "web", `
availableReplicas: 3
conditions:
- {lastTransitionTime: "2026-01-01T00:00:00Z", lastUpdateTime: "2026-01-01T00:00:00Z", message: Deployment has minimum availability., reason: MinimumReplicasAvailable, status: "True", type: Available}
- {lastTransitionTime: "2026-01-01T00:00:00Z", lastUpdateTime: "2026-01-01T00:00:00Z", message: 'ReplicaSet "`+sets[0].GetName()+`" has successfully progressed.', reason: NewReplicaSetAvailable, status: "True", type: Progressing}
observedGeneration: 1
readyReplicas: 3
replicas: 3
terminatingReplicas: 0
updatedReplicas: 3
`)
	l.requireStatus("ReplicaSet", sets[0].GetName(), `
{availableReplicas: 3, fullyLabeledReplicas: 3, observedGeneration: 1, readyReplicas: 3, replicas: 3, terminatingReplicas: 0}`)
	require.Equal(t, map[string]string{
		"team": "blue", "deployment.kubernetes.io/revision": "1", "deployment.kubernetes.io/desired-replicas": "3", "deployment.kubernetes.io/max-replicas": "4",
	}, sets[0].GetAnnotations())
	require.Equal(t, "1", l.get("Deployment", "web").GetAnnotations()["deployment.kubernetes.io/revision"])
	l.requireCurrent("Deployment", "web")
	l.requireCurrent("ReplicaSet", sets[0].GetName())
	for _, p := range l.list("Pod", "app=web") {
		l.requireCurrent("Pod", p.GetName())
	}
	require.Empty(t, l.fails)

	l.patch("Deployment", "web", `{spec: {template: {spec: {containers: [{name: c, image: "i:2"}]}}}}`)
	l.advance(time.Minute)
	l.requireCurrent("Deployment", "web")
	require.Len(t, l.list("ReplicaSet", ""), 2)
	require.Len(t, l.list("Pod", "app=web"), 3)
	require.Equal(t, "2", l.get("Deployment", "web").GetAnnotations()["deployment.kubernetes.io/revision"])
	require.Empty(t, l.fails)
}

// TestAStatusWrittenByHandIsPutRight: as of the real controllers, whose informers tell them.
func TestAStatusWrittenByHandIsPutRight(t *testing.T) {
	l := newLab(t, setting{nodes: 3})
	l.load(web)
	l.settle()
	set := l.list("ReplicaSet", "app=web")[0].GetName()
	for kind, name := range map[string]string{"Deployment": "web", "ReplicaSet": set} {
		before := l.status(kind, name)
		l.patch(kind, name, `{status: {replicas: 77, readyReplicas: 5}}`, "status")
		l.settle()
		l.requireStatus(kind, name, before)
	}
}
