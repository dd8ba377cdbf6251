package kstatustest_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
)

// What a hand-written "make it ready" forgets.
func ExampleCheck() {
	deployment := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "web", "namespace": "shop", "generation": int64(2)},
		"spec":     map[string]any{"replicas": int64(1), "progressDeadlineSeconds": int64(600)},
		"status": map[string]any{
			"replicas": int64(1), "readyReplicas": int64(1), "availableReplicas": int64(1),
			"conditions": []any{map[string]any{"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable",
				"message": "Deployment has minimum availability.", "lastUpdateTime": "2006-01-02T15:04:05Z", "lastTransitionTime": "2006-01-02T15:04:05Z"}},
		},
	}}
	fmt.Println(kstatustest.Check(deployment))
	fmt.Println(kstatustest.MakeCurrent(deployment), kstatustest.Check(deployment))
	// Output:
	// Deployment shop/web is not Current
	//   standard profile: InProgress LessUpdated: Updated: 0/1 (status.updatedReplicas)
	//   extended profile: InProgress LessUpdated: Updated: 0/1 (status.updatedReplicas)
	//   against what its controller would have written:
	//   status.conditions[type="Progressing"]: missing: {"lastTransitionTime":"2006-01-02T15:04:05Z","lastUpdateTime":"2006-01-02T15:04:05Z","message":"ReplicaSet \"web-njg4qh94mc\" has successfully progressed.","reason":"NewReplicaSetAvailable","status":"True","type":"Progressing"}
	//   status.observedGeneration: missing: 2
	//   status.terminatingReplicas: missing: 0
	//   status.updatedReplicas: missing: 1
	// <nil> <nil>
}
