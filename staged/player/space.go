package player

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
)

var manifestWorkKind = schema.GroupVersionKind{Group: "work.open-cluster-management.io", Version: "v1", Kind: "ManifestWork"}

// bindingKeyLabel is where KubeStellar's transport names the Binding of a ManifestWork. It is internal
// to KubeStellar: without it what clusters have is unknown.
const bindingKeyLabel = "transport.kubestellar.io/originOwnerReferenceBindingKey"

// A space is what was seen in KubeStellar's inventory and transport space.
type space struct {
	works      map[types.NamespacedName]*manifestWork
	statuses   map[types.NamespacedName]*clusterStatus
	collectors map[string]*kubestellar.Collector
}

// A manifestWork is what a cluster is told by one Binding.
type manifestWork struct {
	cluster, binding string
	generation       int64
	held             bool // it never updates what the cluster has
	applied          bool // the agent has applied this generation
	confirmed        time.Time
	manifests        []*unstructured.Unstructured
}

// A clusterStatus is the status of one object in one cluster.
type clusterStatus struct {
	object  fleet.ObjectRef
	cluster string
	status  map[string]any
	written time.Time
}

func newSpace() *space {
	return &space{works: map[types.NamespacedName]*manifestWork{}, statuses: map[types.NamespacedName]*clusterStatus{}, collectors: map[string]*kubestellar.Collector{}}
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
		delete(s.statuses, key)
	default:
		s.statuses[key] = newClusterStatus(obj)
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
	w := &manifestWork{cluster: obj.GetNamespace(), binding: obj.GetLabels()[bindingKeyLabel], generation: obj.GetGeneration(), confirmed: statusTime(obj)}
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
	s := &clusterStatus{cluster: obj.GetNamespace(), written: statusTime(obj),
		object: fleet.ObjectRef{Group: field("group"), Resource: field("resource"), Namespace: field("namespace"), Name: field("name")}}
	s.status, _, _ = unstructured.NestedMap(obj.Object, "status")
	return s
}

// statusTime returns when the status of an object was written last, by the clock of its server.
func statusTime(obj *unstructured.Unstructured) (last time.Time) {
	for _, f := range obj.GetManagedFields() {
		if f.Subresource == "status" && f.Time != nil && f.Time.After(last) {
			last = f.Time.Time
		}
	}
	return last
}

// show shows a rollout what was delivered to clusters, and what they have reported of it.
func (s *space) show(v View, r *bindingpolicy.Rollout) {
	r.ObserveWorkload(fleet.Workload{}, s.collectors)
	marks := map[string]string{}
	for _, c := range v.Status.Cohorts {
		for _, name := range c.Clusters {
			marks[name] = c.Mark
		}
	}
	works := map[string][]*manifestWork{}
	for _, w := range s.works {
		if strings.HasPrefix(w.binding, v.Policy.Name()+".stage.") {
			works[w.cluster] = append(works[w.cluster], w)
			marks[w.cluster] += ""
		}
	}
	for cluster, mark := range marks {
		r.ObserveCluster(s.cluster(v, cluster, works[cluster], parseMark(mark)))
	}
}

// A mark is what is remembered of a cluster: the generation of its ManifestWork at which the revision
// was confirmed, whether it is held since, the revision, and the one before.
type mark struct {
	generation int64
	held       bool
	revision   fleet.RevisionID
	before     fleet.RevisionID
	confirmed  int64 // seconds
	absent     bool  // it had nothing, and has reported nothing
}

// nothing stands for the revision before the first one.
const nothing = fleet.RevisionID("nothing")

func (m mark) String() string {
	switch {
	case m.absent:
		return "absent"
	case m.revision == "":
		return ""
	}
	return fmt.Sprintf("%d %t %s %s %d", m.generation, m.held, m.revision, orDash(m.before), m.confirmed)
}

func orDash(id fleet.RevisionID) fleet.RevisionID {
	if id == "" {
		return "-"
	}
	return id
}

func parseMark(text string) (m mark) {
	parts := strings.Fields(text)
	if text == "absent" {
		return mark{absent: true}
	}
	if len(parts) != 5 {
		return mark{}
	}
	m.generation, _ = strconv.ParseInt(parts[0], 10, 64)
	m.held = parts[1] == "true"
	m.revision, m.before = fleet.RevisionID(parts[2]), fleet.RevisionID(strings.TrimSuffix(parts[3], "-"))
	m.confirmed, _ = strconv.ParseInt(parts[4], 10, 64)
	return m
}

// cluster finds out which revision a cluster has, from what it was told and what is remembered.
func (s *space) cluster(v View, name string, works []*manifestWork, m mark) fleet.Cluster {
	c := fleet.Cluster{Name: name, Holders: []string{}}
	open := slices.ContainsFunc(works, func(w *manifestWork) bool { return !w.held })
	generation, applied, confirmed := int64(0), true, time.Time{}
	var manifests []*unstructured.Unstructured
	for _, w := range works {
		if w.applied {
			c.Holders = append(c.Holders, w.binding)
		}
		if generation += w.generation; open && w.held {
			continue // another one updates what this one only creates
		}
		applied = applied && w.applied
		manifests = append(manifests, w.manifests...)
		if w.confirmed.After(confirmed) {
			confirmed = w.confirmed
		}
	}
	told, _ := fleet.Identify(unique(manifests))
	_, known := v.Contents[told]
	switch {
	case len(works) == 0:
		m = mark{absent: !s.hasReported(v, name)}
	case open && applied && known:
		if m.revision != told {
			before := m.revision
			if m.absent {
				before = nothing
			}
			m = mark{revision: told, before: before, confirmed: confirmed.Unix()}
		}
		m.generation, m.held = generation, false
	case open && applied:
		m = mark{}
	case open, m.held:
	case generation <= m.generation+1, told == m.revision:
		m.generation, m.held = generation, true
	default: // somebody's content went through while it was open
		m = mark{}
	}
	c.Applied, c.Mark = m.revision, m.String()
	c.Reports = s.reports(v, name, m)
	return c
}

// hasReported reports whether a cluster has reported an object of the workload.
func (s *space) hasReported(v View, cluster string) bool {
	for _, status := range s.statuses {
		if status.cluster != cluster {
			continue
		}
		for _, content := range v.Contents {
			if find(content, status.object) != nil {
				return true
			}
		}
	}
	return false
}

// unique leaves out manifests that several ManifestWorks hold.
func unique(all []*unstructured.Unstructured) (list []*unstructured.Unstructured) {
	for _, obj := range all {
		same := func(o *unstructured.Unstructured) bool {
			return o.GroupVersionKind() == obj.GroupVersionKind() && o.GetNamespace() == obj.GetNamespace() && o.GetName() == obj.GetName()
		}
		if !slices.ContainsFunc(list, same) {
			list = append(list, obj)
		}
	}
	return list
}

// reports returns the reports of a cluster. One is of the revision that the cluster has if its object
// is the same in the revision before, or if it was written after the delivery was confirmed.
func (s *space) reports(v View, cluster string, m mark) (all []fleet.Report) {
	for _, status := range s.statuses {
		if status.cluster != cluster {
			continue
		}
		r := fleet.Report{Object: status.object, Status: status.status, At: status.written}
		if m.revision != "" && (status.written.Unix() > m.confirmed || isSame(v, status.object, m)) {
			r.Revision, r.Evidence = m.revision, fleet.EvidenceOrdered
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b fleet.Report) int { return strings.Compare(a.Object.String(), b.Object.String()) })
	return all
}

// isSame reports whether an object has the same content in a revision and in the one before.
func isSame(v View, ref fleet.ObjectRef, m mark) bool {
	if m.before == nothing {
		return true // no status of another revision can be here
	}
	now, then := find(v.Contents[m.revision], ref), find(v.Contents[m.before], ref)
	return now != nil && then != nil && reflect.DeepEqual(now.Object, then.Object)
}

// find returns the object of a snapshot that a report is about. A snapshot has kinds, and a report has
// the plural name of one.
func find(s fleet.Snapshot, ref fleet.ObjectRef) *unstructured.Unstructured {
	for _, obj := range s.Objects {
		gvk := obj.GroupVersionKind()
		if gvk.Group == ref.Group && obj.GetNamespace() == ref.Namespace && obj.GetName() == ref.Name && strings.HasPrefix(ref.Resource, strings.TrimSuffix(strings.ToLower(gvk.Kind), "y")) {
			return obj
		}
	}
	return nil
}
