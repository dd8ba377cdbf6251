package controllers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/presets"
)

const db = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 3
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: "i:1"}]}
`

func names(objs []unstructured.Unstructured) (names []string) {
	for _, obj := range objs {
		names = append(names, obj.GetName())
	}
	return names
}

// revisions maps Pods to their images.
func (l *lab) images(labels string) map[string]string {
	images := map[string]string{}
	for _, p := range l.list("Pod", labels) {
		containers, _, _ := unstructured.NestedSlice(p.Object, "spec", "containers")
		images[p.GetName()], _ = containers[0].(map[string]any)["image"].(string)
	}
	return images
}

func TestAStatefulSetStartsOnePodAfterAnother(t *testing.T) {
	l := newLab(t, setting{nodes: 2, pods: presets.PodGeneral})
	l.load(db)
	most := 0
	for range 60 {
		l.advance(500 * time.Millisecond)
		ready, _ := l.field("StatefulSet", "db", "status", "readyReplicas").(int64)
		require.LessOrEqual(t, len(l.list("Pod", "")), int(ready)+1, "the next one only when those before are ready")
		most = max(most, len(l.list("Pod", "")))
	}
	require.Equal(t, 3, most)
	require.Equal(t, []string{"db-0", "db-1", "db-2"}, names(l.list("Pod", "app=db")))
	revision := names(l.list("ControllerRevision", ""))[0]
	l.requireStatus("StatefulSet", "db", `
{availableReplicas: 3, collisionCount: 0, currentReplicas: 3, currentRevision: `+revision+`, observedGeneration: 1, readyReplicas: 3, replicas: 3, updateRevision: `+revision+`, updatedReplicas: 3}`)
	l.requireCurrent("StatefulSet", "db")

	l.patch("StatefulSet", "db", `{spec: {replicas: 1}}`)
	l.advance(10 * time.Minute)
	require.Equal(t, []string{"db-0"}, names(l.list("Pod", "")))
	l.requireCurrent("StatefulSet", "db")
	require.Empty(t, l.fails)
}

func TestAStatefulSetUpdatesFromTheTopToThePartition(t *testing.T) {
	l := newLab(t, setting{nodes: 2})
	l.load(db)
	l.settle()
	l.patch("StatefulSet", "db", `{spec: {updateStrategy: {rollingUpdate: {partition: 2}}, template: {spec: {containers: [{name: c, image: "i:2"}]}}}}`)
	l.settle()
	require.Equal(t, map[string]string{"db-0": "i:1", "db-1": "i:1", "db-2": "i:2"}, l.images("app=db"))
	require.NotEqual(t, l.field("StatefulSet", "db", "status", "currentRevision"), l.field("StatefulSet", "db", "status", "updateRevision"))
	l.requireCurrent("StatefulSet", "db")

	l.delete("Pod", "db-0")
	l.settle()
	require.Equal(t, "i:1", l.images("app=db")["db-0"], "below the partition Pods come back as they were")

	l.patch("StatefulSet", "db", `{spec: {updateStrategy: {rollingUpdate: {partition: 0}}}}`)
	l.settle()
	require.Equal(t, map[string]string{"db-0": "i:2", "db-1": "i:2", "db-2": "i:2"}, l.images("app=db"))
	require.Equal(t, l.field("StatefulSet", "db", "status", "currentRevision"), l.field("StatefulSet", "db", "status", "updateRevision"))
	l.requireCurrent("StatefulSet", "db")
	require.Empty(t, l.fails)
}

func TestAStatefulSetUpdatesByHand(t *testing.T) {
	l := newLab(t, setting{nodes: 2})
	l.load(db)
	l.settle()
	l.patch("StatefulSet", "db", `{spec: {updateStrategy: {type: OnDelete}, template: {spec: {containers: [{name: c, image: "i:2"}]}}}}`)
	l.settle()
	require.Equal(t, map[string]string{"db-0": "i:1", "db-1": "i:1", "db-2": "i:1"}, l.images(""))
	l.delete("Pod", "db-1")
	l.settle()
	require.Equal(t, map[string]string{"db-0": "i:1", "db-1": "i:2", "db-2": "i:1"}, l.images(""))
}
