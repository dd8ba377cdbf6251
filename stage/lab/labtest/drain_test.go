package labtest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

const oneAvailable = `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
`

func TestANodeIsDrained(t *testing.T) {
	lab := labtest.New(t, labtest.Options{Nodes: 1})
	lab.Apply(twoReplicas, oneAvailable)
	lab.WaitCurrent()
	require.EqualValues(t, 1, field(lab.Get("policy/v1", "PodDisruptionBudget", "web"), "status", "disruptionsAllowed"))
	lab.Apply(`{apiVersion: v1, kind: Node, metadata: {name: spare}, status: {allocatable: {cpu: "1", pods: "10"}}}`)
	lab.Settle()
	before := lab.Now()
	lab.Drain(object("v1", "Node", "node-1"))
	require.Equal(t, 10*time.Second, lab.Now().Sub(before), "the second Pod waits until the first one is replaced")
	lab.WaitCurrent()
	for _, pod := range lab.List("v1", "Pod", "app=web") {
		require.Equal(t, "spare", field(pod, "spec", "nodeName"))
	}
	require.Equal(t, true, field(lab.Get("v1", "Node", "node-1"), "spec", "unschedulable"))
}

func TestADrainThatNoBudgetAllows(t *testing.T) {
	said := failure(t, labtest.Options{Nodes: 1, Timeout: time.Minute}, func(lab *labtest.Lab) {
		lab.Apply(twoReplicas, oneAvailable)
		lab.WaitCurrent()
		lab.Drain(object("v1", "Node", "node-1"))
	})
	require.Contains(t, said, "Node node-1 is not drained after 1m0s: there is still Pod default/web-")
	require.Contains(t, said, "Cannot evict pod as it would violate the pod's disruption budget.")
}

func TestAnEvictionIsRefusedUntilTheReplacementIsReady(t *testing.T) {
	lab := labtest.New(t, labtest.Options{})
	lab.Apply(twoReplicas, oneAvailable)
	lab.WaitCurrent()
	pods := lab.List("v1", "Pod", "app=web")
	require.NoError(t, lab.Evict(pods[0]))
	require.True(t, apierrors.IsTooManyRequests(lab.Evict(pods[1])))
	lab.Settle()
	require.NoError(t, lab.Evict(pods[1]))
}
