package staged

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/staged/control"
)

// An Observation is what is known around a policy at one moment. Whatever is missing in it counts as not there yet. What it
// points to is read only.
type Observation struct {
	// Meta is the metadata of the StagedBindingPolicy: its uid and generation, and the annotations that approve.
	Meta metav1.ObjectMeta
	// Policies are the BindingPolicies that it owns; Bindings and Statuses are those of these. Others are ignored.
	Policies []*control.BindingPolicy
	Bindings []*control.Binding
	Statuses []*control.CombinedStatus
	// Reports say which clusters reported when. Without one for an object that is read from the rows of its CombinedStatus, if these select
	// inventory.name and propagation.lastReturnedUpdateTimestamp; else it is not known, and not asked for.
	Reports []Report
	// Clusters are the labels of the clusters that exist, by name; nil if that is not known.
	Clusters map[string]map[string]string
}

// ObjectRef names a workload object.
type ObjectRef struct{ Group, Resource, Namespace, Name string }

// A Report says how the destinations of a BindingPolicy report one object.
type Report struct {
	Policy   string // the name of the BindingPolicy
	Object   ObjectRef
	Clusters []ClusterReport // a destination that is not in it has not reported
}

// A ClusterReport says how one cluster reports an object.
type ClusterReport struct {
	Cluster      string
	Reported     bool
	LastReturned time.Time // when the status came back last
	BoundAt      time.Time // when the version that the Binding names was bound
}

// late says whether the status is missing, or older than the workload.
func (r ClusterReport) late() bool { return !r.Reported || r.LastReturned.Before(r.BoundAt) }
