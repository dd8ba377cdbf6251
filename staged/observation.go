package staged

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/staged/control"
)

// An Observation is what was observed around a policy at one moment. What is missing in it counts
// as absent. The objects that it points to are not changed.
type Observation struct {
	// Meta is the metadata of the StagedBindingPolicy: its uid and generation, and the annotations
	// by which people approve.
	Meta metav1.ObjectMeta
	// BindingPolicies are those that the policy owns. Bindings and Statuses are those of these
	// BindingPolicies; others are ignored.
	BindingPolicies []*control.BindingPolicy
	Bindings        []*control.Binding
	Statuses        []*control.CombinedStatus
	// Reports say which clusters reported when. For an object without one, that is read from the
	// rows of its CombinedStatus, if they select inventory.name and
	// propagation.lastReturnedUpdateTimestamp. Otherwise it is not known, and not asked for.
	Reports []Report
	// Clusters are the labels of the clusters that exist, by name; nil: not known.
	Clusters map[string]map[string]string
}

// ObjectRef names a workload object.
type ObjectRef struct{ Group, Resource, Namespace, Name string }

// String prints resource namespace/name, and the group if there is one.
func (o ObjectRef) String() string {
	name := o.Name
	if o.Namespace != "" {
		name = o.Namespace + "/" + o.Name
	}
	if o.Group != "" {
		return o.Resource + "." + o.Group + " " + name
	}
	return o.Resource + " " + name
}

// A Report says when the destinations of a BindingPolicy reported one object.
type Report struct {
	BindingPolicy string // its name
	Object        ObjectRef
	Clusters      []ClusterReport // a destination that is not here has not reported
}

// A ClusterReport says when one cluster reported an object.
type ClusterReport struct {
	Cluster      string
	Reported     bool
	LastReturned time.Time // when the cluster returned the status last
	BoundAt      time.Time // when the version of the object that the Binding names was bound
}

// isLate says whether the status is missing, or older than the bound version of the object.
func (r ClusterReport) isLate() bool { return !r.Reported || r.LastReturned.Before(r.BoundAt) }
