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
func (r *run) content() *fleet.Workload {
	if r.object.Spec.Updates != v1alpha1.Staged {
		return nil
	}
	w := &fleet.Workload{}
	var objects []*unstructured.Unstructured
	inventory := r.hub.inventory()
	for _, ref := range sorted(r.hub.objects) {
		clause, chosen := clauseOf(r.object.Spec.Downsync, ref, r.hub.objects[ref], inventory.Namespaces)
		if !chosen {
			continue
		}
		w.Objects = append(w.Objects, &fleet.Object{Clause: clause})
		objects = append(objects, r.hub.objects[ref])
	}
	w.Revision = r.identify(objects)
	return w
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
func (r *run) delivered() (all []fleet.Cluster) {
	if r.object.Spec.Updates != v1alpha1.Staged {
		return nil
	}
	for _, m := range r.hub.members {
		var objects []*unstructured.Unstructured
		for _, ref := range m.refs() {
			objects = append(objects, m.created[ref].from)
		}
		c := fleet.Cluster{Name: m.name, Applied: r.identify(objects), Absent: len(objects) == 0}
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
