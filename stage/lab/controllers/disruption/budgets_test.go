package disruption_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
)

// TestAnEvictedPodThatStaysCountsAgain has a budget that says of a Pod that it is about to be
// deleted, which does not happen.
func TestAnEvictedPodThatStaysCountsAgain(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 1})
	c.Load(`{apiVersion: v1, kind: Pod, metadata: {name: web, labels: {app: web}}, spec: {containers: [{name: a, image: i}]}}`)
	c.Load(`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {minAvailable: 0, selector: {matchLabels: {app: web}}}}`)
	c.Settle()
	require.EqualValues(t, 1, c.Field("PodDisruptionBudget", "web", "status", "disruptionsAllowed"))
	c.Patch("PodDisruptionBudget", "web", `{status: {disruptedPods: {web: "`+c.Now().Format(time.RFC3339)+`"}}}`, "status")
	c.Advance(119 * time.Second)
	require.EqualValues(t, 0, c.Field("PodDisruptionBudget", "web", "status", "currentHealthy"))
	c.Advance(time.Second)
	require.EqualValues(t, 1, c.Field("PodDisruptionBudget", "web", "status", "currentHealthy"))
	require.Nil(t, c.Field("PodDisruptionBudget", "web", "status", "disruptedPods"))
}
