package control

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Limits of the Pods of one owner. Without them a number in a spec would fill the memory.
const (
	// MostPods is how many Pods an owner has at most. Kubernetes supports clusters of this size.
	MostPods = 150_000
	// MostWaiting is how many of these Pods wait for a Node at most.
	MostWaiting = 10_000
)

// Room returns how many more Pods a controller may create for an owner. The owner has all Pods;
// waiting of them have no Node.
func Room(all, waiting int64) int { return int(max(0, min(MostPods-all, MostWaiting-waiting))) }

// NoRoom records that there is no room for the Pods that an owner asks for, and returns an error, so
// that the controller looks again later.
func (c Call) NoRoom(owner *unstructured.Unstructured) error {
	err := fmt.Errorf("%s %s asks for more Pods: one owner has at most %d Pods, of which at most %d wait for a Node", owner.GetKind(), owner.GetName(), MostPods, MostWaiting)
	c.Record(owner, "Warning", "FailedCreate", "Error creating: "+err.Error())
	return err
}
