package quota_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

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
	require.Equal(t, map[string]any{
		"persistentvolumeclaims":                                  "2",
		"gold.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
		"gold.storageclass.storage.k8s.io/requests.storage":       "2Gi",
	}, used(c, "q"))
}

// TestDevicesCountByTheirClass checks the amounts of a quota whose names have a DeviceClass.
func TestDevicesCountByTheirClass(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{})
	c.Load(`
apiVersion: v1
kind: ResourceQuota
metadata: {name: q}
spec: {hard: {count/resourceclaims.resource.k8s.io: "9", gold.deviceclass.resource.k8s.io/devices: "40", iron.deviceclass.resource.k8s.io/devices: "9"}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: a}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gold, allocationMode: ExactCount, count: 2}},
  {name: s, firstAvailable: [{name: x, deviceClassName: gold, allocationMode: ExactCount, count: 3}, {name: y, deviceClassName: iron, allocationMode: ExactCount, count: 4},
  {name: z, deviceClassName: gold, allocationMode: ExactCount, count: 1}]}]}}
`)
	require.Equal(t, map[string]any{
		"count/resourceclaims.resource.k8s.io":     "1",
		"gold.deviceclass.resource.k8s.io/devices": "5",
		"iron.deviceclass.resource.k8s.io/devices": "4",
	}, used(c, "q"))
	claim := func(name, amount string) string {
		return `{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: ` + name + `},
  spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gold, ` + amount + `}}]}}}`
	}
	require.NoError(t, create(c, claim("all", "allocationMode: All")))
	err := create(c, claim("b", "allocationMode: ExactCount, count: 4"))
	require.ErrorContains(t, err, "exceeded quota: q, requested: gold.deviceclass.resource.k8s.io/devices=4, used: gold.deviceclass.resource.k8s.io/devices=37, limited: gold.deviceclass.resource.k8s.io/devices=40")
	c.Delete("ResourceClaim", "a")
	require.Equal(t, "32", used(c, "q")["gold.deviceclass.resource.k8s.io/devices"])
}

// used returns status.used of a quota.
func used(c *clustertest.Cluster, name string) map[string]any {
	c.Settle()
	found, _, _ := unstructured.NestedMap(c.Get("ResourceQuota", name).Object, "status", "used")
	return found
}

// create creates an object, as YAML, in the namespace default.
func create(c *clustertest.Cluster, text string) error {
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		return err
	}
	obj.SetNamespace("default")
	_, err := c.Cluster().Create(context.Background(), obj, metav1.CreateOptions{})
	return err
}

// patch changes an object in the namespace default.
func patch(c *clustertest.Cluster, kind schema.GroupVersionKind, name, text string) error {
	_, err := c.Cluster().Patch(context.Background(), kind, types.NamespacedName{Namespace: "default", Name: name}, types.MergePatchType, []byte(text), metav1.PatchOptions{})
	return err
}

// TestAPodChangesItsScopes checks that a Pod which gets a deadline counts for the quotas of its new
// scopes, which can refuse the change, and no longer for those of its old scopes.
func TestAPodChangesItsScopes(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{})
	c.Load(`{apiVersion: v1, kind: ResourceQuota, metadata: {name: ends}, spec: {hard: {pods: "1"}, scopes: [Terminating]}}
---
{apiVersion: v1, kind: ResourceQuota, metadata: {name: stays}, spec: {hard: {pods: "2"}, scopeSelector: {matchExpressions: [{scopeName: NotTerminating, operator: Exists}]}}}
`)
	c.Settle()
	for _, name := range []string{"a", "b"} {
		require.NoError(t, create(c, `{apiVersion: v1, kind: Pod, metadata: {name: `+name+`}, spec: {containers: [{name: c, image: i}]}}`))
	}
	require.Equal(t, map[string]any{"pods": "2"}, used(c, "stays"))
	pod := clustertest.Kind("Pod")
	require.NoError(t, patch(c, pod, "a", `{"spec": {"activeDeadlineSeconds": 3600}}`))
	require.EqualError(t, patch(c, pod, "b", `{"spec": {"activeDeadlineSeconds": 3600}}`),
		`pods "b" is forbidden: exceeded quota: ends, requested: pods=1, used: pods=1, limited: pods=1`, "at once, before the controller has counted")
	require.NoError(t, patch(c, pod, "a", `{"spec": {"activeDeadlineSeconds": 1800}}`), "its scopes stay the same")
	require.Equal(t, map[string]any{"pods": "1"}, used(c, "ends"))
	require.Equal(t, map[string]any{"pods": "1"}, used(c, "stays"))
}

// TestScopesOfClaims checks quotas for the claims of a VolumeAttributesClass.
func TestScopesOfClaims(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{})
	c.Load(`{apiVersion: v1, kind: ResourceQuota, metadata: {name: gold}, spec: {hard: {persistentvolumeclaims: "1", requests.storage: 3Gi},
  scopeSelector: {matchExpressions: [{scopeName: VolumeAttributesClass, operator: In, values: [gold]}]}}}
---
{apiVersion: v1, kind: ResourceQuota, metadata: {name: plain}, spec: {hard: {persistentvolumeclaims: "9"},
  scopeSelector: {matchExpressions: [{scopeName: VolumeAttributesClass, operator: DoesNotExist}]}}}
---
{apiVersion: v1, kind: ResourceQuota, metadata: {name: other}, spec: {hard: {persistentvolumeclaims: "9"},
  scopeSelector: {matchExpressions: [{scopeName: VolumeAttributesClass, operator: NotIn, values: [gold]}]}}}
`)
	c.Settle()
	claim := func(name, class string) string {
		return `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: ` + name + `},
  spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}` + class + `}}`
	}
	require.NoError(t, create(c, claim("a", ", volumeAttributesClassName: gold")))
	require.EqualError(t, create(c, claim("b", ", volumeAttributesClassName: gold")), `persistentvolumeclaims "b" is forbidden: exceeded quota: gold, `+
		`requested: persistentvolumeclaims=1,requests.storage=2Gi, used: persistentvolumeclaims=1,requests.storage=2Gi, limited: persistentvolumeclaims=1,requests.storage=3Gi`)
	require.NoError(t, create(c, claim("b", ", volumeAttributesClassName: iron")))
	require.NoError(t, create(c, claim("c", "")))
	require.Equal(t, map[string]any{"persistentvolumeclaims": "1", "requests.storage": "2Gi"}, used(c, "gold"))
	require.Equal(t, map[string]any{"persistentvolumeclaims": "1"}, used(c, "plain"))
	require.Equal(t, map[string]any{"persistentvolumeclaims": "2"}, used(c, "other"))

	kind := clustertest.Kind("PersistentVolumeClaim")
	require.True(t, apierrors.IsForbidden(patch(c, kind, "b", `{"spec": {"volumeAttributesClassName": "gold"}}`)), "a change of the class counts")
	require.NoError(t, patch(c, kind, "a", `{"spec": {"volumeAttributesClassName": "iron"}}`))
	require.Equal(t, map[string]any{"persistentvolumeclaims": "0", "requests.storage": "0"}, used(c, "gold"), "the controller counts after the change")
}

// TestOtherKindsAreCounted checks a quota for objects of kinds that the controller does not watch.
func TestOtherKindsAreCounted(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{})
	c.Load(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
---
{apiVersion: example.com/v1, kind: Widget, metadata: {name: a, namespace: default}}
---
{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {count/widgets.example.com: "2", count/leases.coordination.k8s.io: "5", count/unknown.example.com: "1"}}}
`)
	require.Equal(t, map[string]any{"count/widgets.example.com": "1", "count/leases.coordination.k8s.io": "0"}, used(c, "q"), "what was there before, and no unknown kind")
	require.NoError(t, create(c, `{apiVersion: v1, kind: ConfigMap, metadata: {name: owner}}`))
	owner := string(c.Get("ConfigMap", "owner").GetUID())
	owned := `{apiVersion: example.com/v1, kind: Widget, metadata: {name: b, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: "` + owner + `"}]}}`
	require.NoError(t, create(c, owned))
	require.EqualError(t, create(c, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: c}}`),
		`widgets.example.com "c" is forbidden: exceeded quota: q, requested: count/widgets.example.com=1, used: count/widgets.example.com=2, limited: count/widgets.example.com=2`)
	widgets := func() any { return used(c, "q")["count/widgets.example.com"] }
	require.Equal(t, "2", widgets())
	c.Delete("ConfigMap", "owner")
	require.Equal(t, "1", widgets(), "the garbage collector deleted one")
	name := types.NamespacedName{Namespace: "default", Name: "a"}
	require.NoError(t, c.Cluster().Delete(t.Context(), schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}, name, metav1.DeleteOptions{}))
	require.Equal(t, "0", widgets())
}
