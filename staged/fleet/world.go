package fleet

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A RevisionID is the identity of the workload as its source holds it at one moment: see
// [Identify]. "" is not known.
type RevisionID string

// Evidence says how a health result is tied to a revision.
type Evidence int

// The levels of evidence, weakest first. With EvidenceNone a status can be of any
// revision. With EvidenceOrdered the status is from after the delivery of the revision was confirmed. With
// EvidenceExact the report carries the revision.
const (
	EvidenceNone Evidence = iota
	EvidenceOrdered
	EvidenceExact
)

// String returns "None", "Ordered" or "Exact".
func (e Evidence) String() string { return [...]string{"None", "Ordered", "Exact"}[e] }

// An Instant is a time of the hub's clock, up to Error wrong. If Known is false, Time is that of a
// program whose clock was not compared with the hub's: no soak ends by it, and nothing fails by it.
type Instant struct {
	Time  time.Time
	Error time.Duration
	Known bool
}

// A World is what was observed around a policy at one moment. What is missing in it counts as
// absent. What it points to is not changed.
type World struct {
	// Meta is the metadata of the StagedBindingPolicy: its uid, its generation and its annotations.
	Meta metav1.ObjectMeta
	Now  Instant
	// Workload is the workload as its source holds it.
	Workload Workload
	// Clusters are sorted by name: existing ones, and ones that a placement still holds.
	Clusters []Cluster
	// Placements are what exists in the transport, sorted by name.
	Placements []Placement
	// Approvals are decisions of people in objects of their own. Annotations are in Meta.
	Approvals []Approval
	// Adopted are the placements that spec.adopt names and that still exist. They have Name, UID, Has
	// and Objects.
	Adopted []Placement
	// Conflicts are placements of somebody else that hold objects of the workload in clusters of
	// the policy.
	Conflicts []v1alpha1.Conflict
	// Gates are the objects of the hub that stages name as gates.
	Gates []Gate
	// Collectors are the StatusCollectors of spec.downsync, by name. They are needed where the
	// transport ties reports to revisions.
	Collectors map[string]*kubestellar.Collector
	Can        Capabilities
}

// A Workload is the objects that a policy distributes.
type Workload struct {
	Revision  RevisionID // the newest that was cut; "": none yet
	Unsettled bool       // the source holds something else by now, which is not cut yet
	// Objects are the objects of Revision. They are read where Capabilities.Content is true.
	Objects []*Object
	// Kept are the revisions whose content is known; nil: that of all that a record names.
	Kept []RevisionID
	// CannotRestore is why the source cannot be written back to an earlier revision, such as a GitOps
	// tool that manages it; "": it can.
	CannotRestore string
	// Fault is why what the source asks for is no revision; "": nothing is wrong.
	Fault string
}

// A Object is one object as a placement brings it to clusters. It must not be changed once it was
// shown: results are remembered by its address.
type Object struct {
	// Clause describes the object, as filters see it.
	Clause control.DownsyncClause
	// Combined is the CombinedStatus that the transport has made for this placement; nil: there is
	// none, and Missing may say why. It is read at evidence None only.
	Combined *control.CombinedStatus
	Missing  string
	// Returned says which clusters have returned a status. It counts if ReturnedKnown.
	Returned      []ClusterReport
	ReturnedKnown bool
}

// Ref returns the name of the object.
func (o *Object) Ref() ObjectRef {
	return ObjectRef{o.Clause.Group, o.Clause.Resource, o.Clause.Namespace, o.Clause.Name}
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

// A ClusterReport says when one cluster returned the status of an object.
type ClusterReport struct {
	Cluster      string
	Reported     bool
	LastReturned time.Time // when the cluster returned the status last
	BoundAt      time.Time // when the version of the object that the placement names was bound
}

// IsLate reports whether the status is missing, or older than the bound version of the object.
func (r ClusterReport) IsLate() bool { return !r.Reported || r.LastReturned.Before(r.BoundAt) }

// A Cluster is a cluster and what was observed there.
type Cluster struct {
	Name   string
	Labels map[string]string // nil: the cluster does not exist any more
	// Applied is the revision that the transport has confirmed; "": not known.
	Applied RevisionID
	// Mark is the transport's own. The ledger keeps it and gives it back.
	Mark string
	// Holders are the placements that were observed as applied there; nil: the transport cannot tell, and
	// a placement that was taken over stands for that.
	Holders []string
	// Had says that the cluster had the workload before any placement of this policy. Absent says
	// that the transport saw that it had none of the objects. Neither: the transport cannot tell.
	Had, Absent bool
	// Fault is why nothing can be delivered there; "": nothing is wrong.
	Fault string
	// Reports are the statuses that the cluster has returned. They are read where
	// Capabilities.Content is true.
	Reports []Report
}

// A Report is the status of one object in one cluster.
type Report struct {
	Object   ObjectRef
	Revision RevisionID // that the status is known to be of; "": not known
	Evidence Evidence
	Status   map[string]any
	At       time.Time // when it was returned; zero: not known
}

// A Placement is clusters that are to have one revision, or are to keep what they have.
type Placement struct {
	Name, Stage string
	// Clusters are chosen by name. Nil: Selectors choose them.
	Clusters  []string
	Selectors []metav1.LabelSelector
	// Revision is what the clusters are to have. With Hold they keep what they have.
	Revision RevisionID
	Hold     bool
	// Version is the fence: it grows with every change that a decision makes.
	Version int64

	// The other fields are observed.

	// Has are the clusters that the placement holds, sorted. Selects are the clusters that it would hold
	// by now: they are the same once the transport has caught up.
	Has, Selects []string
	// Ready says that the transport has taken it over for all its clusters. If not, Waits says what
	// is missing.
	Ready bool
	Waits string
	// Open says that new content reaches the clusters.
	Open bool
	// Same says that it places what spec.downsync asks for.
	Same bool
	// UID is that of the object which is the placement; "": it is no single object. Owned says that
	// the garbage collector deletes it with the StagedBindingPolicy.
	UID   types.UID
	Owned bool
	// Taken says that an object of this name exists that belongs to somebody else. Ending says that
	// it is being deleted.
	Taken, Ending bool
	// Objects are what the clusters get from it. They are read where Capabilities.Content is false.
	Objects []*Object
	// Errors are faults that the transport reports.
	Errors []string
}

// An Approval is the decision of a person about a gate.
type Approval struct {
	Stage, Gate string // Gate is before or after
	Ticket, By  string
	Reject      bool
	Reason      string
}

// A Gate is an object of the hub that a stage waits for.
type Gate struct {
	Stage, Name string         // of the gate in the stage
	Object      map[string]any // nil: it does not exist
}

// Capabilities are what a transport can observe and do.
type Capabilities struct {
	// Inventory: World.Clusters has the labels of all clusters.
	Inventory bool
	// Content: the transport knows the content of revisions, and what was applied where.
	Content bool
	// OldRevision: it can place a revision that the source holds no longer.
	OldRevision bool
	// ByName: it can place in single clusters, by name.
	ByName bool
	// Best is the best evidence of its reports.
	Best Evidence
	// Kind and Bound are what messages call a placement, and what shows that it was taken over:
	// BindingPolicy and Binding. Default "placement".
	Kind, Bound string
}
