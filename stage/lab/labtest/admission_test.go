package labtest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

func TestAQuotaIsKept(t *testing.T) {
	lab := labtest.New(t, labtest.Options{})
	lab.Apply(`{apiVersion: v1, kind: ResourceQuota, metadata: {name: two}, spec: {hard: {pods: "2"}}}`)
	lab.WaitCurrent()
	lab.Apply(web)
	lab.Advance(time.Minute)
	require.Len(t, lab.List("v1", "Pod", ""), 2)
	require.Equal(t, map[string]any{"pods": "2"}, field(lab.Get("v1", "ResourceQuota", "two"), "status", "used"))
	pod := object("v1", "Pod", "one-more")
	pod.SetNamespace("default")
	_, err := lab.Cluster().Create(t.Context(), pod, metav1.CreateOptions{})
	require.True(t, apierrors.IsForbidden(err))
	require.ErrorContains(t, err, "exceeded quota: two, requested: pods=1, used: pods=2, limited: pods=2")
}

func TestAFieldThatIsDroppedIsReported(t *testing.T) {
	lab := labtest.New(t, labtest.Options{})
	lab.Apply(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  updateStrategy: {rollingUpdate: {maxUnavailable: 2}}
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: i}]}}
`)
	lab.WaitCurrent()
	require.Nil(t, field(lab.Get("apps/v1", "StatefulSet", "db"), "spec", "updateStrategy", "rollingUpdate", "maxUnavailable"))
	used := lab.NotModelled()
	require.Len(t, used, 1)
	require.Equal(t, "spec.updateStrategy.rollingUpdate.maxUnavailable", used[0].Path)
}

func TestALabWithoutControllersDeletesClaims(t *testing.T) {
	lab := labtest.New(t, labtest.Options{OnlyControllers: true})
	lab.Apply(`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`)
	lab.Delete(object("v1", "PersistentVolumeClaim", "c"))
	require.Empty(t, lab.List("v1", "PersistentVolumeClaim", ""))
}
