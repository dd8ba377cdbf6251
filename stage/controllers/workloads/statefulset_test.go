package workloads_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/clustertest"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

func TestAStatefulSetStartsOnePodAfterAnother(t *testing.T) {
	l := clustertest.New(t, clustertest.Options{Nodes: 2, Pods: presets.PodGeneral})
	l.Load(clustertest.Manifest("statefulset"))
	most := 0
	for range 60 {
		l.Advance(500 * time.Millisecond)
		ready, _ := l.Field("StatefulSet", "db", "status", "readyReplicas").(int64)
		require.LessOrEqual(t, len(l.List("Pod", "")), int(ready)+1, "the next one only when those before are ready")
		most = max(most, len(l.List("Pod", "")))
	}
	require.Equal(t, 3, most)
	require.Equal(t, []string{"db-0", "db-1", "db-2"}, l.Names("Pod", "app=db"))
	revision := l.Names("ControllerRevision", "")[0]
	l.RequireStatus("StatefulSet", "db", `
{availableReplicas: 3, collisionCount: 0, currentReplicas: 3, currentRevision: `+revision+`, observedGeneration: 1, readyReplicas: 3, replicas: 3, updateRevision: `+revision+`, updatedReplicas: 3}`)
	l.RequireCurrent("StatefulSet", "db")

	l.Patch("StatefulSet", "db", `{spec: {replicas: 1}}`)
	l.Advance(10 * time.Minute)
	require.Equal(t, []string{"db-0"}, l.Names("Pod", ""))
	l.RequireCurrent("StatefulSet", "db")
	require.Empty(t, l.Errors)
}

func TestAStatefulSetUpdatesFromTheTopToThePartition(t *testing.T) {
	l := clustertest.New(t, clustertest.Options{Nodes: 2})
	l.Load(clustertest.Manifest("statefulset"))
	l.Settle()
	l.Patch("StatefulSet", "db", `{spec: {updateStrategy: {rollingUpdate: {partition: 2}}, template: {spec: {containers: [{name: c, image: "i:2"}]}}}}`)
	l.Settle()
	require.Equal(t, map[string]string{"db-0": "i:1", "db-1": "i:1", "db-2": "i:2"}, l.Images("app=db"))
	require.NotEqual(t, l.Field("StatefulSet", "db", "status", "currentRevision"), l.Field("StatefulSet", "db", "status", "updateRevision"))
	l.RequireCurrent("StatefulSet", "db")

	l.Delete("Pod", "db-0")
	l.Settle()
	require.Equal(t, "i:1", l.Images("app=db")["db-0"], "below the partition Pods come back as they were")

	l.Patch("StatefulSet", "db", `{spec: {updateStrategy: {rollingUpdate: {partition: 0}}}}`)
	l.Settle()
	require.Equal(t, map[string]string{"db-0": "i:2", "db-1": "i:2", "db-2": "i:2"}, l.Images("app=db"))
	require.Equal(t, l.Field("StatefulSet", "db", "status", "currentRevision"), l.Field("StatefulSet", "db", "status", "updateRevision"))
	l.RequireCurrent("StatefulSet", "db")
	require.Empty(t, l.Errors)
}

func TestAStatefulSetUpdatesByHand(t *testing.T) {
	l := clustertest.New(t, clustertest.Options{Nodes: 2})
	l.Load(clustertest.Manifest("statefulset"))
	l.Settle()
	l.Patch("StatefulSet", "db", `{spec: {updateStrategy: {type: OnDelete}, template: {spec: {containers: [{name: c, image: "i:2"}]}}}}`)
	l.Settle()
	require.Equal(t, map[string]string{"db-0": "i:1", "db-1": "i:1", "db-2": "i:1"}, l.Images(""))
	l.Delete("Pod", "db-1")
	l.Settle()
	require.Equal(t, map[string]string{"db-0": "i:1", "db-1": "i:2", "db-2": "i:1"}, l.Images(""))
}
