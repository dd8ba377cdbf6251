package rehearse

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// content returns the workload with the identity of its content, as a player with access to the
// space of the transport sees it; nil if the policy does not stage updates: then the rehearsal shows
// what a player sees on the hub.
func (r *policyRun) content() *fleet.Workload {
	if r.object.Spec.Updates != v1alpha1.Staged {
		return nil
	}
	w := &fleet.Workload{}
	for _, ref := range sorted(r.hub.objects) {
		if clause, chosen := clauseOf(r.object.Spec.Downsync, ref, r.hub.objects[ref], r.hub.inventory().Namespaces); chosen {
			w.Objects = append(w.Objects, &fleet.Object{Clause: clause})
		}
	}
	w.Revision = r.held()
	return w
}

// held returns the revision that the hub holds; "": it holds no workload.
func (r *policyRun) held() fleet.RevisionID {
	var objects []*unstructured.Unstructured
	for _, ref := range sorted(r.hub.objects) {
		if r.chooses(ref, r.hub.objects[ref]) {
			objects = append(objects, r.hub.objects[ref])
		}
	}
	return r.identify(objects)
}

// has returns the revision that a cluster has; "": it has no workload.
func (r *policyRun) has(m *member) fleet.RevisionID {
	var objects []*unstructured.Unstructured
	for _, ref := range m.refs() {
		if from := m.created[ref].from; r.chooses(ref, from) {
			objects = append(objects, from)
		}
	}
	return r.identify(objects)
}

func (r *policyRun) chooses(ref fleet.ObjectRef, obj *unstructured.Unstructured) bool {
	_, chosen := clauseOf(r.object.Spec.Downsync, ref, obj, r.hub.inventory().Namespaces)
	return chosen
}

// clauseOf returns the clause of a Binding for an object. It is false if the policy does not choose
// the object.
func clauseOf(downsync []control.DownsyncPolicyClause, ref fleet.ObjectRef, obj *unstructured.Unstructured, namespaces kubestellar.Namespaces) (control.DownsyncClause, bool) {
	o := kubestellar.Object{Group: ref.Group, Version: obj.GroupVersionKind().Version, Resource: ref.Resource, Namespace: ref.Namespace, Name: ref.Name,
		Labels: obj.GetLabels(), ResourceVersion: obj.GetResourceVersion()}
	modulation, chosen := kubestellar.Match(downsync, o, namespaces)
	return control.DownsyncClause{Group: o.Group, Version: o.Version, Resource: o.Resource, Namespace: o.Namespace, Name: o.Name,
		ResourceVersion: o.ResourceVersion, DownsyncModulation: modulation}, chosen
}

// identify returns the revision of objects, from a table where it can.
func (r *run) identify(objects []*unstructured.Unstructured) fleet.RevisionID {
	if len(objects) == 0 {
		return ""
	}
	var key strings.Builder
	for _, obj := range objects {
		fmt.Fprintf(&key, "%p ", obj)
	}
	id, known := r.revisions[key.String()]
	if !known {
		id, _ = fleet.Identify(objects) // they were stored as JSON
		r.revisions[key.String()] = id
	}
	return id
}

// delivered returns what was delivered to each cluster, and what it has reported of that.
func (r *policyRun) delivered() (all []fleet.Cluster) {
	if r.object.Spec.Updates != v1alpha1.Staged {
		return nil
	}
	for _, m := range r.hub.members {
		c := fleet.Cluster{Name: m.name, Applied: r.has(m)}
		for _, ref := range m.refs() {
			seen, has := m.reported[ref]
			if !has {
				continue
			}
			report := fleet.Report{Object: ref, Status: seen.Status, At: seen.LastUpdate}
			if !seen.LastUpdate.Add(-m.latency).Before(m.created[ref].at) {
				report.Revision, report.Evidence = c.Applied, fleet.EvidenceOrdered
			}
			c.Reports = append(c.Reports, report)
		}
		all = append(all, c)
	}
	return all
}
