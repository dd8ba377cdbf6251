package disruption_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
)

func TestAPodThatIsNotDeletedIsNoLongerATarget(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 1})
	c.Load(`{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {nodeName: node-000, containers: [{name: a, image: i}]}}`)
	c.Settle()
	now := c.Now().Format(time.RFC3339)
	c.Patch("Pod", "web", `{status: {conditions: [{type: DisruptionTarget, status: "True", lastTransitionTime: "`+now+`"}]}}`, "status")
	c.Advance(119 * time.Second)
	require.Equal(t, "True", c.Condition("Pod", "web", "DisruptionTarget")["status"])
	c.Advance(time.Second)
	require.Equal(t, "False", c.Condition("Pod", "web", "DisruptionTarget")["status"])
}
