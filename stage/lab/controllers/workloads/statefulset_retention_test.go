package workloads_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

// claimed is a patch of a StatefulSet that gives it claims with a retention policy.
func claimed(whenDeleted, whenScaled string) string {
	return fmt.Sprintf(`{spec: {persistentVolumeClaimRetentionPolicy: {whenDeleted: %s, whenScaled: %s}}}`, whenDeleted, whenScaled)
}

const statefulSetWithClaims = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 3
  serviceName: db
  selector: {matchLabels: {app: db}}
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Retain, whenScaled: Retain}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: "i:1"}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`

// owners returns the owner of each claim, by name.
func owners(c *clustertest.Cluster) map[string]string {
	found := map[string]string{}
	for _, claim := range c.List("PersistentVolumeClaim", "") {
		var names []string
		for _, ref := range claim.GetOwnerReferences() {
			names = append(names, fmt.Sprint(ref.Kind, " ", ref.Name))
		}
		found[claim.GetName()] = strings.Join(names, ", ")
	}
	return found
}

func TestClaimsAreOwnedByThePolicy(t *testing.T) {
	for _, test := range []struct {
		whenDeleted, whenScaled string
		owner                   string   // of all claims
		scaled, deleted         []string // the claims that remain when 1 of 3 replicas remains, and when the set is deleted
	}{
		{"Retain", "Retain", "", []string{"data-db-0", "data-db-1", "data-db-2"}, []string{"data-db-0", "data-db-1", "data-db-2"}},
		{"Delete", "Retain", "StatefulSet db", []string{"data-db-0", "data-db-1", "data-db-2"}, nil},
		{"Retain", "Delete", "", []string{"data-db-0"}, []string{"data-db-0"}},
		{"Delete", "Delete", "StatefulSet db", []string{"data-db-0"}, nil},
	} {
		t.Run(test.whenDeleted+test.whenScaled, func(t *testing.T) {
			c := clustertest.New(t, clustertest.Options{Nodes: 2, Pods: presets.PodGeneral})
			c.Load(clustertest.Manifest("storageclass") + "---" + statefulSetWithClaims)
			c.Advance(time.Minute)
			c.Patch("StatefulSet", "db", claimed(test.whenDeleted, test.whenScaled))
			c.Advance(time.Minute)
			want := map[string]string{"data-db-0": test.owner, "data-db-1": test.owner, "data-db-2": test.owner}
			require.Equal(t, want, owners(c), "claims that are there get another owner")
			c.Delete("Pod", "db-1")
			c.Advance(time.Minute)
			require.Equal(t, want, owners(c), "a Pod that is replaced keeps its claims")

			c.Patch("StatefulSet", "db", `{spec: {replicas: 1}}`)
			c.Advance(5 * time.Minute)
			require.Equal(t, test.scaled, c.Names("PersistentVolumeClaim", ""))
			c.Delete("StatefulSet", "db")
			c.Advance(5 * time.Minute)
			require.Equal(t, test.deleted, c.Names("PersistentVolumeClaim", ""))
			require.Empty(t, c.Errors)
		})
	}
}

// TestCondemnedPodsOwnTheirClaimsFirst: all surplus Pods own their claims before the first of them
// is deleted, and a Pod that comes back has its own claim.
func TestCondemnedPodsOwnTheirClaimsFirst(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 2, Pods: presets.PodGeneral})
	c.Load(clustertest.Manifest("storageclass") + "---" + statefulSetWithClaims)
	c.Patch("StatefulSet", "db", claimed("Delete", "Delete"))
	c.Advance(time.Minute)
	uid := c.Get("PersistentVolumeClaim", "data-db-2").GetUID()
	var first map[string]string
	require.NoError(t, c.On(clustertest.Kind("Pod"), func(_ context.Context, e watch.Event) error {
		if pod := e.Object.(*unstructured.Unstructured); first == nil && pod.GetDeletionTimestamp() != nil {
			first = owners(c)
		}
		return nil
	}))
	c.Patch("StatefulSet", "db", `{spec: {replicas: 1}}`)
	c.Advance(time.Second)
	require.Equal(t, map[string]string{"data-db-0": "StatefulSet db", "data-db-1": "Pod db-1", "data-db-2": "Pod db-2"}, first)
	c.Patch("StatefulSet", "db", `{spec: {replicas: 3}}`)
	c.Advance(5 * time.Minute)
	require.Equal(t, []string{"db-0", "db-1", "db-2"}, c.Names("Pod", ""))
	require.Equal(t, map[string]string{"data-db-0": "StatefulSet db", "data-db-1": "StatefulSet db", "data-db-2": "StatefulSet db"}, owners(c))
	require.NotEqual(t, uid, c.Get("PersistentVolumeClaim", "data-db-2").GetUID())
	require.Empty(t, c.Errors)
}

func TestClaimsOfAnotherControllerAreLeftAlone(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 2})
	c.Load("{apiVersion: v1, kind: Service, metadata: {name: other}, spec: {clusterIP: None}}")
	other := c.Get("Service", "other").GetUID()
	c.Load(clustertest.Manifest("storageclass") + "---" + statefulSetWithClaims)
	c.Settle()
	c.Patch("PersistentVolumeClaim", "data-db-1", fmt.Sprintf(`{metadata: {ownerReferences: [{apiVersion: v1, kind: Service, name: other, uid: %s, controller: true}]}}`, other))
	c.Patch("StatefulSet", "db", claimed("Delete", "Delete"))
	c.Settle()
	require.Equal(t, map[string]string{"data-db-0": "StatefulSet db", "data-db-1": "Service other", "data-db-2": "StatefulSet db"}, owners(c))
	require.Empty(t, c.Errors)
}

// TestAClaimWhoseOwnerWasRemovedIsOwnedAgain: the set looks at the claim when any of its Pods changes, as
// in kube-controller-manager, though it does not look at the other Pods.
func TestAClaimWhoseOwnerWasRemovedIsOwnedAgain(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 2})
	c.Load(clustertest.Manifest("storageclass") + "---" + strings.ReplaceAll(statefulSetWithClaims, "name: data", "name: my-data"))
	c.Patch("StatefulSet", "db", claimed("Delete", "Retain"))
	c.Settle()
	want := map[string]string{"my-data-db-0": "StatefulSet db", "my-data-db-1": "StatefulSet db", "my-data-db-2": "StatefulSet db"}
	require.Equal(t, want, owners(c))
	c.Patch("PersistentVolumeClaim", "my-data-db-1", `{metadata: {ownerReferences: null}}`)
	c.Settle()
	require.Empty(t, owners(c)["my-data-db-1"])
	c.Patch("Pod", "db-2", `{metadata: {labels: {look: again}}}`)
	c.Settle()
	require.Equal(t, want, owners(c))
	require.Empty(t, c.Errors)
}
