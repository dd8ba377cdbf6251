package player

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

var manifestWorkKind = schema.GroupVersionKind{Group: "work.open-cluster-management.io", Version: "v1", Kind: "ManifestWork"}

// bindingKeyLabel is where KubeStellar's transport names the Binding of a ManifestWork. It is internal
// to KubeStellar: without it what clusters have is unknown.
const bindingKeyLabel = "transport.kubestellar.io/originOwnerReferenceBindingKey"

// A space is what was seen in KubeStellar's inventory and transport space.
type space struct {
	works      map[types.NamespacedName]*manifestWork
	statuses   map[string]map[string]*clusterStatus // by cluster, then by name
	collectors map[string]*kubestellar.Collector
}

// A manifestWork is what a cluster is told by one Binding.
type manifestWork struct {
	cluster, binding string
	generation       int64
	held             bool      // it never updates what the cluster has
	applied          bool      // the agent has applied this generation
	ordered          time.Time // when it was written last
	confirmed        time.Time // when its status was
	manifests        []*unstructured.Unstructured
}

// A clusterStatus is the status of one object in one cluster.
type clusterStatus struct {
	object  fleet.ObjectRef
	status  map[string]any
	created time.Time
	written time.Time
	// The observedGeneration of status, since when it has this value, and the value before. 0: none.
	generation, former int64
	since              time.Time
}

func newSpace() *space {
	return &space{works: map[types.NamespacedName]*manifestWork{}, statuses: map[string]map[string]*clusterStatus{}, collectors: map[string]*kubestellar.Collector{}}
}

func (s *space) observe(kind schema.GroupVersionKind, obj *unstructured.Unstructured, deleted bool) error {
	key := nameOf(obj)
	switch {
	case kind == collectorKind:
		delete(s.collectors, obj.GetName())
		if deleted {
			return nil
		}
		return s.collect(obj)
	case kind == manifestWorkKind && deleted:
		delete(s.works, key)
	case kind == manifestWorkKind:
		s.works[key] = newManifestWork(obj)
	case deleted:
		delete(s.statuses[key.Namespace], key.Name)
	default:
		if s.statuses[key.Namespace] == nil {
			s.statuses[key.Namespace] = map[string]*clusterStatus{}
		}
		next := newClusterStatus(obj)
		if old := s.statuses[key.Namespace][key.Name]; old != nil && old.generation == next.generation {
			next.since, next.former = old.since, old.former
		} else if old != nil {
			next.former = old.generation
		}
		s.statuses[key.Namespace][key.Name] = next
	}
	return nil
}

func (s *space) collect(obj *unstructured.Unstructured) error {
	var c control.StatusCollector
	if err := convert(obj, &c); err != nil {
		return err
	}
	compiled, err := kubestellar.Compile(c.Spec)
	if err != nil {
		return fmt.Errorf("StatusCollector %s: %w", c.Name, err)
	}
	s.collectors[c.Name] = compiled
	return nil
}

func newManifestWork(obj *unstructured.Unstructured) *manifestWork {
	w := &manifestWork{cluster: obj.GetNamespace(), binding: obj.GetLabels()[bindingKeyLabel], generation: obj.GetGeneration(), ordered: timeOf(obj, ""), confirmed: timeOf(obj, "status")}
	manifests, _, _ := unstructured.NestedSlice(obj.Object, "spec", "workload", "manifests")
	for _, m := range manifests {
		if fields, ok := m.(map[string]any); ok {
			w.manifests = append(w.manifests, fleet.Deliver(&unstructured.Unstructured{Object: fields}))
		}
	}
	configs, _, _ := unstructured.NestedSlice(obj.Object, "spec", "manifestConfigs")
	for _, c := range configs {
		fields, _ := c.(map[string]any)
		strategy, _, _ := unstructured.NestedString(fields, "updateStrategy", "type")
		w.held = w.held || strategy == "CreateOnly"
	}
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, c := range conditions {
		fields, _ := c.(map[string]any)
		seen, _, _ := unstructured.NestedInt64(fields, "observedGeneration")
		w.applied = w.applied || fields["type"] == "Applied" && fields["status"] == "True" && seen == w.generation
	}
	return w
}

func newClusterStatus(obj *unstructured.Unstructured) *clusterStatus {
	field := func(name string) string {
		text, _, _ := unstructured.NestedString(obj.Object, "spec", "sourceRef", name)
		return text
	}
	s := &clusterStatus{created: obj.GetCreationTimestamp().Time, written: timeOf(obj, "status"),
		object: fleet.ObjectRef{Group: field("group"), Resource: field("resource"), Namespace: field("namespace"), Name: field("name")}}
	s.status, _, _ = unstructured.NestedMap(obj.Object, "status")
	s.generation, _, _ = unstructured.NestedInt64(s.status, "observedGeneration")
	s.since = s.written
	return s
}

// timeOf returns when an object, or its subresource, was written last, by the clock of its server.
func timeOf(obj *unstructured.Unstructured, subresource string) (last time.Time) {
	for _, f := range obj.GetManagedFields() {
		if f.Subresource == subresource && f.Time != nil && f.Time.After(last) {
			last = f.Time.Time
		}
	}
	return last
}

// show shows a rollout what was delivered to clusters, and what they have reported of it.
func (s *space) show(v View, r *bindingpolicy.Rollout) {
	r.ObserveWorkload(v.Workload, s.collectors)
	records := map[string]v1alpha1.ClusterRecord{}
	for _, c := range v.Status.Cohorts {
		for _, name := range c.Clusters {
			records[name] = c.ClusterRecord
		}
	}
	works := map[string][]*manifestWork{}
	for _, w := range s.works {
		if strings.HasPrefix(w.binding, v.Policy.Name()+v1alpha1.StageSeparator) || slices.ContainsFunc(v.Policy.Definition().Spec.Adopt, func(a v1alpha1.Adoption) bool { return a.BindingPolicy == w.binding }) {
			works[w.cluster] = append(works[w.cluster], w)
			records[w.cluster] = records[w.cluster] // it may have none
		}
	}
	for cluster, rec := range records {
		slices.SortFunc(works[cluster], func(a, b *manifestWork) int { // the newest order first
			return cmp.Or(b.ordered.Compare(a.ordered), strings.Compare(a.binding, b.binding))
		})
		r.ObserveCluster(s.cluster(v, cluster, works[cluster], parseMark(v, rec.Mark).told(rec.Desired)))
	}
}

// cluster finds out which revision a cluster has, from what it was told and what is remembered.
func (s *space) cluster(v View, name string, works []*manifestWork, m mark) fleet.Cluster {
	c := fleet.Cluster{Name: name, Holders: []string{}}
	generation, applied, ordered, confirmed := int64(0), true, time.Time{}, time.Time{}
	open := slices.ContainsFunc(works, func(w *manifestWork) bool { return !w.held })
	var manifests []*unstructured.Unstructured
	for _, w := range works {
		if w.applied {
			c.Holders = append(c.Holders, w.binding)
		}
		if generation += w.generation; w.held && open {
			continue // the open ones say what the cluster receives
		}
		applied = applied && w.applied
		manifests = append(manifests, w.manifests...)
		ordered, confirmed = later(ordered, w.ordered), later(confirmed, w.confirmed)
	}
	manifests, agree := unique(manifests)
	told, _ := fleet.Identify(manifests)
	applied = applied && agree // else one of them is not what the hub holds by now
	_, known := v.Contents[told]
	statuses := s.statusesOf(name)
	if open && told != m.revision && m.next != told.Short() {
		m.counters = m.countersBefore(v, statuses, ordered)
		m.next = told.Short()
	}
	if open && told == m.revision && !m.isUnderWay() && generation > m.generation+1 {
		m.next, m.counters = unseen, nil // something else may have been ordered in between
	}
	switch {
	case len(works) == 0:
		m = mark{absent: !hasReported(v, statuses)}
	case open && applied && known:
		m = m.confirm(told, generation == int64(len(works)), confirmed)
		m.generation, m.held = generation, false
	case open && applied:
		m = mark{}
	case open:
	case m.held, generation <= m.generation+1, told == m.revision && len(works) > 1 && !m.isUnderWay():
		m.generation, m.held = generation, true
		if m.hasLost(v, told, statuses) {
			m = mark{}
		}
	default: // somebody's content went through while it was open
		m = mark{}
	}
	m.noteReported(v, statuses)
	if c.Applied, c.Mark = m.revision, m.String(); open && m.isUnderWay() && (string(m.revision) == v.Status.Wanted || m.revision == v.Workload.Revision) {
		c.Applied = "" // it came back before the other content was seen to arrive, which it still may
	}
	c.Reports = reportsOf(v, statuses, m)
	return c
}

// confirm notes that a revision was applied. One that was there already is new if another content was
// ordered in between. Without an earlier order, a cluster that had nothing can report nothing else.
func (m mark) confirm(told fleet.RevisionID, first bool, at time.Time) mark {
	next := mark{revision: told, next: told.Short(), counters: m.counters, confirmed: at.Unix()}
	switch {
	case m.revision == told && !m.isUnderWay():
		return m
	case m.revision == told:
		return next
	case m.absent && first:
		next.before = nothing
	default:
		next.before = m.revision
	}
	next.counters = m.counters.disowned()
	return next
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// statusesOf returns what a cluster has reported, sorted by object.
func (s *space) statusesOf(cluster string) []*clusterStatus {
	return slices.SortedFunc(maps.Values(s.statuses[cluster]), func(a, b *clusterStatus) int { return strings.Compare(a.object.String(), b.object.String()) })
}

// unique leaves out manifests that several ManifestWorks hold, and reports whether they agree.
func unique(all []*unstructured.Unstructured) (list []*unstructured.Unstructured, agree bool) {
	agree = true
	for _, obj := range all {
		n := slices.IndexFunc(list, func(o *unstructured.Unstructured) bool {
			return o.GroupVersionKind() == obj.GroupVersionKind() && o.GetNamespace() == obj.GetNamespace() && o.GetName() == obj.GetName()
		})
		if n < 0 {
			list = append(list, obj)
		} else if !reflect.DeepEqual(list[n].Object, obj.Object) {
			agree = false
		}
	}
	return list, agree
}
