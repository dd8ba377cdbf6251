package quota_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
)

// TestClaimsCountByTheirClass checks the amounts of a quota whose names have a StorageClass.
func TestClaimsCountByTheirClass(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{})
	c.Load(`
apiVersion: v1
kind: ResourceQuota
metadata: {name: q}
spec:
  hard:
    persistentvolumeclaims: "9"
    gold.storageclass.storage.k8s.io/persistentvolumeclaims: "5"
    gold.storageclass.storage.k8s.io/requests.storage: 5Gi
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: a}
spec: {storageClassName: gold, accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: b}
spec: {storageClassName: iron, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`)
	c.Settle()
	quotas, err := c.Cluster().List(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "ResourceQuota"}, "default", metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]any{
		"persistentvolumeclaims":                                  "2",
		"gold.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
		"gold.storageclass.storage.k8s.io/requests.storage":       "2Gi",
	}, quotas.Items[0].Object["status"].(map[string]any)["used"])
}
