package player

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
)

// workStatus is KubeStellar's WorkStatus: what a cluster, whose name is the namespace, reports of
// one object. Only the fields that say who reported when are here.
type workStatus struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		SourceRef struct {
			Group     string `json:"group"`
			Resource  string `json:"resource"`
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		} `json:"sourceRef"`
	} `json:"spec"`
	Details struct {
		// LastGeneration is 0 while the details are not filled in: KubeStellar's add-on creates them
		// with 0 and false, and never writes them again.
		LastGeneration          int64 `json:"lastGeneration"`
		LastGenerationIsApplied bool  `json:"lastGenerationIsApplied"`
	} `json:"statusDetails"`
}

// report returns the report of the cluster. A status from before the cluster applied the latest
// version of the object does not count as a report. Details that are not filled in say nothing.
func (w *workStatus) report() fleet.ClusterReport {
	reported := w.Details.LastGeneration == 0 || w.Details.LastGenerationIsApplied
	return fleet.ClusterReport{Cluster: w.Namespace, Reported: reported, LastReturned: w.lastReturned()}
}

// lastReturned returns when the status was written last, in the way KubeStellar finds it: from
// metadata.managedFields. It is zero if that is not known.
func (w *workStatus) lastReturned() (last time.Time) {
	for _, f := range w.ManagedFields {
		if f.Subresource == "status" && f.Time != nil && f.Time.After(last) {
			last = f.Time.Time
		}
	}
	return last
}

// workStatuses holds the reports of all WorkStatuses, by object and by the name of the WorkStatus.
type workStatuses struct {
	reports map[fleet.ObjectRef]map[types.NamespacedName]fleet.ClusterReport
	objects map[types.NamespacedName]fleet.ObjectRef
}

func newWorkStatuses() *workStatuses {
	return &workStatuses{
		reports: map[fleet.ObjectRef]map[types.NamespacedName]fleet.ClusterReport{},
		objects: map[types.NamespacedName]fleet.ObjectRef{},
	}
}

// store stores a WorkStatus, or removes one that was deleted, and returns the object that it is
// about.
func (w *workStatuses) store(e watchEvent) (fleet.ObjectRef, error) {
	key := nameOf(e.obj)
	ref := w.objects[key]
	if e.deleted {
		delete(w.reports[ref], key)
		delete(w.objects, key)
		return ref, nil
	}
	var status workStatus
	if err := convert(e.obj, &status); err != nil {
		return ref, err
	}
	source := status.Spec.SourceRef
	ref = fleet.ObjectRef{Group: source.Group, Resource: source.Resource, Namespace: source.Namespace, Name: source.Name}
	if w.reports[ref] == nil {
		w.reports[ref] = map[types.NamespacedName]fleet.ClusterReport{}
	}
	w.reports[ref][key], w.objects[key] = status.report(), ref
	return ref, nil
}

// of returns the reports of an object, sorted by cluster.
func (w *workStatuses) of(ref fleet.ObjectRef) []fleet.ClusterReport {
	all := make([]fleet.ClusterReport, 0, len(w.reports[ref]))
	for _, r := range w.reports[ref] {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b fleet.ClusterReport) int { return cmp.Compare(a.Cluster, b.Cluster) })
	return all
}

// show shows a rollout the reports of one object, and reports whether the rollout knows the object.
func (w *workStatuses) show(ref fleet.ObjectRef, r *bindingpolicy.Rollout) (known bool) {
	for _, name := range r.BindingPoliciesOf(ref) {
		r.ObserveReport(bindingpolicy.Report{BindingPolicy: name, Object: ref, Clusters: w.of(ref)})
		known = true
	}
	return known
}

// showAll shows a rollout the reports of all objects of a Binding. A nil w shows nothing.
func (w *workStatuses) showAll(binding string, r *bindingpolicy.Rollout) {
	if w == nil {
		return
	}
	for _, ref := range r.ObjectsOf(binding) {
		r.ObserveReport(bindingpolicy.Report{BindingPolicy: binding, Object: ref, Clusters: w.of(ref)})
	}
}
