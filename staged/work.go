package staged

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/staged/control"
)

var workKind = schema.GroupVersionKind{Group: control.Group, Version: control.Version, Kind: "WorkStatus"}

// workStatus is what a cluster, whose name is the namespace, reports of one object, as far as it says who reported when.
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
	// Details are absent in older versions.
	Details *struct {
		LastGenerationIsApplied bool `json:"lastGenerationIsApplied"`
	} `json:"statusDetails"`
}

// report is what it says. A status of a cluster that has not applied the latest version of the object is none.
func (w *workStatus) report() ClusterReport {
	return ClusterReport{Cluster: w.Namespace, Reported: w.Details == nil || w.Details.LastGenerationIsApplied, LastReturned: w.returned()}
}

// returned is when the status was written last, as KubeStellar finds it; zero if that is not known.
func (w *workStatus) returned() (last time.Time) {
	for _, f := range w.ManagedFields {
		if f.Subresource == "status" && f.Time != nil && f.Time.After(last) {
			last = f.Time.Time
		}
	}
	return last
}

// works are the reports of WorkStatuses, by object and by their names.
type works struct {
	reports map[ObjectRef]map[types.NamespacedName]ClusterReport
	objects map[types.NamespacedName]ObjectRef
}

func newWorks() *works {
	return &works{map[ObjectRef]map[types.NamespacedName]ClusterReport{}, map[types.NamespacedName]ObjectRef{}}
}

// take takes in a WorkStatus, and returns the object that it concerns.
func (w *works) take(n news) (ObjectRef, error) {
	key := nameOf(n.obj)
	ref := w.objects[key]
	if n.gone {
		delete(w.reports[ref], key)
		delete(w.objects, key)
		return ref, nil
	}
	var status workStatus
	if err := convert(n.obj, &status); err != nil {
		return ref, err
	}
	source := status.Spec.SourceRef
	ref = ObjectRef{source.Group, source.Resource, source.Namespace, source.Name}
	if w.reports[ref] == nil {
		w.reports[ref] = map[types.NamespacedName]ClusterReport{}
	}
	w.reports[ref][key], w.objects[key] = status.report(), ref
	return ref, nil
}

// of are the reports of an object, by cluster.
func (w *works) of(ref ObjectRef) []ClusterReport {
	all := make([]ClusterReport, 0, len(w.reports[ref]))
	for _, r := range w.reports[ref] {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b ClusterReport) int { return cmp.Compare(a.Cluster, b.Cluster) })
	return all
}

// show shows a rollout the reports of one object, and reports whether that concerns it.
func (w *works) show(ref ObjectRef, r *Rollout) (concerned bool) {
	for name, pl := range r.placed {
		if pl.sights[ref] != nil {
			r.ObserveReport(Report{Policy: name, Object: ref, Clusters: w.of(ref)})
			concerned = true
		}
	}
	return concerned
}

// showBound shows a rollout the reports of all objects of a Binding. Nil shows nothing.
func (w *works) showBound(binding string, r *Rollout) {
	if w == nil {
		return
	}
	for _, o := range r.at(binding).order {
		r.ObserveReport(Report{Policy: binding, Object: o.ref, Clusters: w.of(o.ref)})
	}
}
