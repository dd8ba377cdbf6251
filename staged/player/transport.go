package player

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/transport"
	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A View is a StagedBindingPolicy as a Player sees it when it decides.
type View struct {
	Policy *staged.Policy
	Meta   metav1.ObjectMeta
	Status v1alpha1.Status
	Now    fleet.Instant
	// Workload is what the hub holds, where the Player reads that.
	Workload fleet.Workload
	// Contents are the revisions whose content is known.
	Contents map[fleet.RevisionID]fleet.Snapshot
	// Policies are the names of the StagedBindingPolicies that exist; nil: that is not known.
	Policies []string
}

// AppliedBefore returns the revision that the ledger has for a cluster that has not confirmed the one that it was
// told to take last: the new order changes nothing before. If the source comes back to that revision, it is
// not known any more whether the cluster has it: the other one may arrive, or have arrived. Nor is it if the cluster
// is to go back to that revision.
func (v View) AppliedBefore(cluster string, told fleet.RevisionID) fleet.RevisionID {
	for _, c := range v.Status.Cohorts {
		before := fleet.RevisionID(c.Applied)
		if slices.Contains(c.Clusters, cluster) && c.Back != c.Applied && (before == told || before != v.Workload.Revision) {
			return before
		}
	}
	return ""
}

// A Transport brings revisions to clusters: it is the port of a Player to a fleet. The Player watches
// the kinds that the Transport reads, and calls all methods in one goroutine.
type Transport interface {
	// Kinds returns the kinds that it reads, and where.
	Kinds() map[schema.GroupVersionKind]transport.Reader
	// Observe notes a state of an object, or its deletion. It returns the names of the
	// StagedBindingPolicies that it concerns; "" stands for all.
	Observe(kind schema.GroupVersionKind, obj *unstructured.Unstructured, deleted bool) (concerns []string, err error)
	// World returns what is known around a policy. The Player fills in the workload where the
	// capability Content is set and World leaves it empty.
	World(v View) fleet.World
	// Differs reports whether Place would write something.
	Differs(v View, p fleet.Placement) bool
	// Place makes a placement, or updates it, under the resourceVersions that were observed. It fails
	// if a newer version of the placement is there. It may be called again. The events say what it
	// has done.
	Place(ctx context.Context, v View, p fleet.Placement, content fleet.Snapshot) ([]staged.Event, error)
	// Disown takes off what lets the garbage collector delete a placement with the
	// StagedBindingPolicy. A Transport whose placements have no owner references does nothing.
	Disown(ctx context.Context, v View, name string) error
	// Remove removes a placement by the name that a Decision gives it.
	Remove(ctx context.Context, v View, name string) ([]staged.Event, error)
}
