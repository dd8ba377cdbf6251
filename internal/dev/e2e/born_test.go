package e2e_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// TestObjectsOfANewCluster checks that the server in memory begins with the objects that a
// kube-apiserver creates itself.
func TestObjectsOfANewCluster(t *testing.T) {
	t.Parallel()
	real := ownPlane(t) // other tests add objects to the common one
	inMemory := apiserver.Start(t, memory.New(memory.Options{RequireNamespaces: true}), apiserver.Options{Bare: true})
	for _, path := range []string{
		"/apis/scheduling.k8s.io/v1/priorityclasses?fieldSelector=metadata.name=system-cluster-critical",
		"/apis/scheduling.k8s.io/v1/priorityclasses?fieldSelector=metadata.name=system-node-critical",
		"/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
		"/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
		"/apis/apiregistration.k8s.io/v1/apiservices?labelSelector=kube-aggregator.kubernetes.io/automanaged=onstart",
		"/apis/networking.k8s.io/v1/servicecidrs?fieldSelector=metadata.name=kubernetes",
	} {
		ours := bornObjects(t, inMemory, path)
		require.EventuallyWithT(t, func(c *assert.CollectT) { // kube-apiserver writes some of them after it is ready
			assert.Equal(c, bornObjects(t, real.Config(), path), ours, path)
		}, time.Minute, 200*time.Millisecond)
	}
}

// bornObjects returns the objects of a list by name, without fields that differ from cluster to
// cluster, and without what kube-controller-manager writes.
func bornObjects(t *testing.T, config *rest.Config, path string) map[string]any {
	var list unstructured.UnstructuredList
	require.NoError(t, json.Unmarshal(send(t, config, httpRequest{Path: path}).body, &list))
	all := map[string]any{}
	for _, u := range list.Items {
		for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "finalizers"} {
			unstructured.RemoveNestedField(u.Object, "metadata", field)
		}
		if list.GetKind() == "ServiceCIDRList" { // a flag of the server
			unstructured.RemoveNestedField(u.Object, "spec", "cidrs")
		}
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		for _, c := range conditions {
			condition := c.(map[string]any)
			delete(condition, "lastTransitionTime")
			if list.GetKind() == "ServiceCIDRList" {
				delete(condition, "message")
			}
		}
		if len(conditions) > 0 {
			require.NoError(t, unstructured.SetNestedSlice(u.Object, conditions, "status", "conditions"))
		}
		all[u.GetName()] = u.Object
	}
	return all
}
