package workloads_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

func TestAStatefulSetStartsOnePodAfterAnother(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 2, Pods: presets.PodGeneral})
	c.Load(clustertest.Manifest("statefulset"))
	most := 0
	for range 60 {
		c.Advance(500 * time.Millisecond)
		ready, _ := c.Field("StatefulSet", "db", "status", "readyReplicas").(int64)
		require.LessOrEqual(t, len(c.List("Pod", "")), int(ready)+1, "the next one only when those before are ready")
		most = max(most, len(c.List("Pod", "")))
	}
	require.Equal(t, 3, most)
	require.Equal(t, []string{"db-0", "db-1", "db-2"}, c.Names("Pod", "app=db"))
	revision := c.Names("ControllerRevision", "")[0]
	c.RequireStatus("StatefulSet", "db", `
{availableReplicas: 3, collisionCount: 0, currentReplicas: 3, currentRevision: `+revision+`, observedGeneration: 1, readyReplicas: 3, replicas: 3, updateRevision: `+revision+`, updatedReplicas: 3}`)
	c.RequireCurrent("StatefulSet", "db")

	c.Patch("StatefulSet", "db", `{spec: {replicas: 1}}`)
	c.Advance(10 * time.Minute)
	require.Equal(t, []string{"db-0"}, c.Names("Pod", ""))
	c.RequireCurrent("StatefulSet", "db")
	require.Empty(t, c.Errors)
}

func TestAStatefulSetUpdatesFromTheTopToThePartition(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 2})
	c.Load(clustertest.Manifest("statefulset"))
	c.Settle()
	c.Patch("StatefulSet", "db", `{spec: {updateStrategy: {rollingUpdate: {partition: 2}}, template: {spec: {containers: [{name: c, image: "i:2"}]}}}}`)
	c.Settle()
	require.Equal(t, map[string]string{"db-0": "i:1", "db-1": "i:1", "db-2": "i:2"}, c.Images("app=db"))
	require.NotEqual(t, c.Field("StatefulSet", "db", "status", "currentRevision"), c.Field("StatefulSet", "db", "status", "updateRevision"))
	c.RequireCurrent("StatefulSet", "db")

	c.Delete("Pod", "db-0")
	c.Settle()
	require.Equal(t, "i:1", c.Images("app=db")["db-0"], "below the partition Pods come back as they were")

	c.Patch("StatefulSet", "db", `{spec: {updateStrategy: {rollingUpdate: {partition: 0}}}}`)
	c.Settle()
	require.Equal(t, map[string]string{"db-0": "i:2", "db-1": "i:2", "db-2": "i:2"}, c.Images("app=db"))
	require.Equal(t, c.Field("StatefulSet", "db", "status", "currentRevision"), c.Field("StatefulSet", "db", "status", "updateRevision"))
	c.RequireCurrent("StatefulSet", "db")
	require.Empty(t, c.Errors)
}

func TestAStatefulSetUpdatesByHand(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 2})
	c.Load(clustertest.Manifest("statefulset"))
	c.Settle()
	c.Patch("StatefulSet", "db", `{spec: {updateStrategy: {type: OnDelete}, template: {spec: {containers: [{name: c, image: "i:2"}]}}}}`)
	c.Settle()
	require.Equal(t, map[string]string{"db-0": "i:1", "db-1": "i:1", "db-2": "i:1"}, c.Images(""))
	c.Delete("Pod", "db-1")
	c.Settle()
	require.Equal(t, map[string]string{"db-0": "i:1", "db-1": "i:2", "db-2": "i:1"}, c.Images(""))
}

// TestAStatefulSetThatCannotCreateAPodDropsRevisions: the old db-0 blocks the new one, because the
// set no longer owns it.
func TestAStatefulSetThatCannotCreateAPodDropsRevisions(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 2})
	c.Load(clustertest.Manifest("statefulset"))
	c.Patch("StatefulSet", "db", `{spec: {replicas: 1, revisionHistoryLimit: 0}}`)
	c.Settle()
	c.Patch("Pod", "db-0", `{metadata: {labels: {app: other}}}`)
	c.Advance(time.Minute)
	require.NotEmpty(t, c.Errors)
	for _, image := range []string{"i:2", "i:3", "i:4"} {
		c.Patch("StatefulSet", "db", `{spec: {template: {spec: {containers: [{name: c, image: "`+image+`"}]}}}}`)
		c.Advance(time.Minute)
	}
	require.Len(t, c.Names("ControllerRevision", ""), 2, "the current one and the one to update to")
}

// TestARevisionOfAnotherIsTakenIfItHasTheTemplate: without a claim to it no other name is tried.
func TestARevisionOfAnotherIsTakenIfItHasTheTemplate(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 2})
	c.Load(clustertest.Manifest("statefulset"))
	c.Settle()
	name := c.Names("ControllerRevision", "")[0]
	c.Patch("ControllerRevision", name, `{metadata: {labels: {app: other}}}`)
	c.Settle()
	c.Patch("StatefulSet", "db", `{metadata: {labels: {look: again}}}`)
	c.Settle()
	require.Equal(t, []string{name}, c.Names("ControllerRevision", ""))
	require.Equal(t, int64(0), c.Field("StatefulSet", "db", "status", "collisionCount"))
}
