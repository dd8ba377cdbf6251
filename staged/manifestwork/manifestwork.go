package manifestwork

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/listwatch"
	"github.com/stagecraft-go/stagecraft/stage/transport"
	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/player"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// Kind is the kind of a ManifestWork.
var Kind = schema.GroupVersionKind{Group: "work.open-cluster-management.io", Version: "v1", Kind: "ManifestWork"}

// The labels of a ManifestWork that say whose it is, and the type of the condition that says which
// revision a feedback is of.
const (
	policyLabel    = v1alpha1.Group + "/policy"
	placementLabel = v1alpha1.Group + "/placement"
	revisionShown  = "RevisionShown"
)

// probeAnnotation says what a first ManifestWork, which only reads, has found in the cluster: pending,
// absent or present. A rollback removes nothing from a cluster that had an object before.
const probeAnnotation = v1alpha1.Group + "/probe"

// Options of [New].
type Options struct {
	// Clusters returns the labels of the clusters that exist, by name. It must not be nil.
	Clusters func() map[string]map[string]string
	// Feedback are the fields of the status of workload objects that agents return, such as
	// .availableReplicas, by the name that conditions see below returned.status.
	Feedback map[string]string
	// Collectors are the StatusCollectors that policies name.
	Collectors map[string]*kubestellar.Collector
}

// A Transport is a [player.Transport] for Open Cluster Management.
type Transport struct {
	hub     transport.Transport
	options Options
	works   map[types.NamespacedName]*unstructured.Unstructured
	holders map[manifest][]types.NamespacedName // the ManifestWorks that bring an object to a cluster
	brings  map[types.NamespacedName][]manifest // the same from the other side
	faults  map[types.NamespacedName]error      // of the last writes
}

var _ player.Transport = (*Transport)(nil)

// New returns a Transport that has seen nothing yet.
func New(hub transport.Transport, o Options) *Transport {
	return &Transport{hub: listwatch.Bounded(hub, listwatch.RequestTimeout), options: o, works: map[types.NamespacedName]*unstructured.Unstructured{},
		holders: map[manifest][]types.NamespacedName{}, brings: map[types.NamespacedName][]manifest{}, faults: map[types.NamespacedName]error{}}
}

// Kinds returns the kind of ManifestWorks.
func (t *Transport) Kinds() map[schema.GroupVersionKind]transport.Reader {
	return map[schema.GroupVersionKind]transport.Reader{Kind: t.hub}
}

// Observe notes a ManifestWork.
func (t *Transport) Observe(kind schema.GroupVersionKind, obj *unstructured.Unstructured, deleted bool) ([]string, error) {
	if kind != Kind {
		return nil, nil
	}
	key := types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	before := t.brings[key]
	if t.note(key, obj); deleted {
		t.note(key, nil)
	}
	if !slices.Equal(before, t.brings[key]) {
		return []string{""}, nil // other policies may bring the same objects
	}
	return []string{obj.GetLabels()[policyLabel]}, nil
}

// World returns what ManifestWorks say of the clusters of a policy.
func (t *Transport) World(v player.View) fleet.World {
	w := fleet.World{Meta: v.Meta, Now: v.Now, Collectors: t.options.Collectors, Can: fleet.Capabilities{
		Inventory: true, Content: true, OldRevision: true, ByName: true, Best: fleet.EvidenceExact, Kind: "ManifestWork", Bound: "ManifestWork"}}
	labels := t.options.Clusters()
	names := map[string]bool{}
	for name := range labels {
		names[name] = true
	}
	placements := map[string]*fleet.Placement{}
	for key, work := range t.works {
		if work.GetLabels()[policyLabel] == v.Policy.Name() && key.Name == workName(v) {
			names[key.Namespace] = true
			addTo(placements, work)
			noteContent(v, work)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		w.Clusters = append(w.Clusters, t.cluster(v, name, labels[name]))
	}
	w.Conflicts = t.conflicts(v, w.Clusters)
	for _, name := range slices.Sorted(maps.Keys(placements)) {
		slices.Sort(placements[name].Has)
		placements[name].Clusters = placements[name].Has
		w.Placements = append(w.Placements, *placements[name])
	}
	return w
}

// noteContent notes the content of the revision of a ManifestWork: it is what a cluster has, or will have,
// even if its snapshot is gone.
func noteContent(v player.View, work *unstructured.Unstructured) {
	id := revisionOf(work)
	if _, known := v.Contents[id]; known {
		return
	}
	manifests, _, _ := unstructured.NestedSlice(work.Object, "spec", "workload", "manifests")
	var objects []*unstructured.Unstructured
	for _, m := range manifests {
		fields, _ := m.(map[string]any)
		objects = append(objects, &unstructured.Unstructured{Object: fields})
	}
	if content, err := fleet.NewSnapshot(objects); err == nil && content.Revision == id {
		v.Contents[id] = content
	}
}

// addTo adds a ManifestWork to the placement that it belongs to.
func addTo(placements map[string]*fleet.Placement, work *unstructured.Unstructured) {
	name := work.GetLabels()[placementLabel]
	p := placements[name]
	if p == nil {
		p = &fleet.Placement{Name: name, Ready: true, Open: true, Same: true}
		placements[name] = p
	}
	p.Has = append(p.Has, work.GetNamespace())
	p.Version = max(p.Version, versionOf(work))
	p.Revision = revisionOf(work)
	for _, c := range conditionsOf(work.Object, "status", "conditions") {
		if c["type"] == "Applied" && c["status"] == "False" && observed(c) == work.GetGeneration() {
			p.Errors = append(p.Errors, fmt.Sprintf("%s: %v", work.GetNamespace(), c["message"]))
		}
	}
}

// cluster returns what is known of one cluster.
func (t *Transport) cluster(v player.View, name string, labels map[string]string) fleet.Cluster {
	c := fleet.Cluster{Name: name, Labels: labels}
	key := types.NamespacedName{Namespace: name, Name: workName(v)}
	if err := t.faults[key]; err != nil {
		c.Fault = err.Error()
	}
	work := t.works[key]
	if work == nil {
		return c
	}
	found := work.GetAnnotations()[probeAnnotation]
	if c.Absent, c.Had = found == "absent", found == "present"; found == "pending" {
		return c
	}
	if isApplied(work) {
		c.Applied = revisionOf(work)
	} else {
		c.Applied = v.AppliedBefore(name, revisionOf(work))
	}
	c.Reports = reportsOf(work, c.Applied)
	return c
}

// isApplied reports whether the agent has applied a ManifestWork as it is.
func isApplied(work *unstructured.Unstructured) bool {
	return slices.ContainsFunc(conditionsOf(work.Object, "status", "conditions"), func(f map[string]any) bool {
		return f["type"] == "Applied" && f["status"] == "True" && observed(f) == work.GetGeneration()
	})
}

// isObserved reports whether the agent has seen a ManifestWork as it is.
func isObserved(work *unstructured.Unstructured) bool {
	return slices.ContainsFunc(conditionsOf(work.Object, "status", "conditions"), func(f map[string]any) bool {
		return f["type"] == "Applied" && observed(f) == work.GetGeneration()
	})
}

// reportsOf reads the feedback of each manifest. It is of the revision if the condition next to it,
// which was read from the same object, says so; else it is of no revision.
func reportsOf(work *unstructured.Unstructured, applied fleet.RevisionID) (all []fleet.Report) {
	manifests, _, _ := unstructured.NestedSlice(work.Object, "status", "resourceStatus", "manifests")
	for _, m := range manifests {
		fields, _ := m.(map[string]any)
		ref := fleet.ObjectRef{Group: text(fields, "resourceMeta", "group"), Resource: text(fields, "resourceMeta", "resource"),
			Namespace: text(fields, "resourceMeta", "namespace"), Name: text(fields, "resourceMeta", "name")}
		r := fleet.Report{Object: ref, Status: map[string]any{}}
		values, _, _ := unstructured.NestedSlice(fields, "statusFeedback", "values")
		for _, value := range values {
			if f, ok := value.(map[string]any); ok {
				r.Status[fmt.Sprint(f["name"])] = fieldValue(f)
			}
		}
		for _, c := range conditionsOf(fields, "conditions") {
			if c["type"] == revisionShown && c["status"] == "True" && strings.Contains(fmt.Sprint(c["message"]), string(applied)) && applied != "" {
				r.Revision, r.Evidence = applied, fleet.EvidenceExact
			}
		}
		all = append(all, r)
	}
	return all
}

// fieldValue returns the value of a feedback.
func fieldValue(f map[string]any) any {
	value, _, _ := unstructured.NestedMap(f, "fieldValue")
	for _, key := range []string{"integer", "string", "boolean", "jsonRaw"} {
		if v, has := value[key]; has {
			return v
		}
	}
	return nil
}

// Differs reports whether a ManifestWork of the placement has another content, label or version.
func (t *Transport) Differs(v player.View, p fleet.Placement) bool {
	return slices.ContainsFunc(p.Clusters, func(c string) bool { return t.differs(v, p, c) })
}

func (t *Transport) differs(v player.View, p fleet.Placement, cluster string) bool {
	work := t.works[types.NamespacedName{Namespace: cluster, Name: workName(v)}]
	return work == nil || work.GetDeletionTimestamp() == nil && (revisionOf(work) != p.Revision || work.GetLabels()[placementLabel] != p.Name || isProbed(work) != "")
}

// isProbed returns what a probe has found, once that is known and not written down yet; "" else.
func isProbed(work *unstructured.Unstructured) string {
	manifests, _, _ := unstructured.NestedSlice(work.Object, "status", "resourceStatus", "manifests")
	if work.GetAnnotations()[probeAnnotation] != "pending" || len(manifests) == 0 {
		return ""
	}
	found := "absent"
	for _, m := range manifests {
		fields, _ := m.(map[string]any)
		known := false
		for _, c := range conditionsOf(fields, "conditions") {
			if c["type"] == "Available" && observed(c) == work.GetGeneration() {
				if known = true; c["status"] != "False" {
					found = "present"
				}
			}
		}
		if !known {
			return ""
		}
	}
	return found
}

// Place writes the ManifestWorks that differ. One that cannot be written keeps no other from that.
func (t *Transport) Place(ctx context.Context, v player.View, p fleet.Placement, content fleet.Snapshot) (events []staged.Event, err error) {
	if content.Revision != p.Revision {
		return nil, fmt.Errorf("the content of %s is not known", p.Revision)
	}
	for _, cluster := range p.Clusters {
		if !t.differs(v, p, cluster) {
			continue
		}
		key := types.NamespacedName{Namespace: cluster, Name: workName(v)}
		old := t.works[key]
		if old != nil && versionOf(old) > p.Version {
			return events, apierrors.NewConflict(schema.GroupResource{Group: Kind.Group, Resource: "manifestworks"}, key.String(), fmt.Errorf("version %d is there, and %d is older", versionOf(old), p.Version))
		}
		want := t.manifest(v, p, key, content)
		probe(old, want)
		stored, e := t.write(ctx, old, want)
		if delete(t.faults, key); e != nil {
			if err = errors.Join(err, e); !apierrors.IsConflict(e) {
				t.faults[key] = e
			}
			continue
		}
		t.note(key, stored)
		events = append(events, staged.Event{Type: "Normal", Reason: "ManifestWorkWritten", Message: fmt.Sprintf("wrote ManifestWork %s", key)})
	}
	return events, err
}

// probe makes a first ManifestWork one that only reads, and keeps what that has found.
func probe(old, want *unstructured.Unstructured) {
	found := "pending"
	if old != nil {
		if found = cmp.Or(isProbed(old), old.GetAnnotations()[probeAnnotation]); found == "" {
			found = "present" // another program has made it
		}
	}
	annotations := want.GetAnnotations()
	annotations[probeAnnotation] = found
	want.SetAnnotations(annotations)
	strategy := "Update"
	if found == "pending" {
		strategy = "ReadOnly"
	}
	configs, _, _ := unstructured.NestedSlice(want.Object, "spec", "manifestConfigs")
	for _, c := range configs {
		c.(map[string]any)["updateStrategy"] = map[string]any{"type": strategy}
	}
	_ = unstructured.SetNestedSlice(want.Object, configs, "spec", "manifestConfigs") // it is there
}

func (t *Transport) write(ctx context.Context, old, want *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if old == nil {
		return t.hub.Create(ctx, want, metav1.CreateOptions{})
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": old.GetUID(), "resourceVersion": old.GetResourceVersion(), "labels": want.GetLabels(), "annotations": want.GetAnnotations()},
		"spec":     want.Object["spec"],
	})
	if err != nil {
		return nil, err
	}
	return t.hub.Patch(ctx, Kind, types.NamespacedName{Namespace: old.GetNamespace(), Name: old.GetName()}, types.MergePatchType, patch, metav1.PatchOptions{})
}

// manifest returns the ManifestWork of a cluster.
func (t *Transport) manifest(v player.View, p fleet.Placement, key types.NamespacedName, content fleet.Snapshot) *unstructured.Unstructured {
	var manifests, configs []any
	for _, obj := range content.Objects {
		copied := obj.DeepCopy()
		annotations := copied.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[v1alpha1.RevisionAnnotation] = string(p.Revision)
		copied.SetAnnotations(annotations)
		manifests, configs = append(manifests, copied.Object), append(configs, t.config(copied, p.Revision))
	}
	work := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"workload": map[string]any{"manifests": manifests}, "manifestConfigs": configs, "deleteOption": map[string]any{"propagationPolicy": leaves},
	}}}
	if v.Policy.DeletionPolicy() != v1alpha1.Orphan {
		work.Object["spec"].(map[string]any)["deleteOption"] = map[string]any{"propagationPolicy": removes}
	}
	work.SetGroupVersionKind(Kind)
	work.SetNamespace(key.Namespace)
	work.SetName(key.Name)
	work.SetLabels(map[string]string{policyLabel: v.Policy.Name(), placementLabel: p.Name})
	work.SetAnnotations(map[string]string{v1alpha1.VersionAnnotation: strconv.FormatInt(p.Version, 10), v1alpha1.RevisionAnnotation: string(p.Revision)})
	return work
}

// config asks for the feedback of an object, and for the condition that ties it to a revision.
func (t *Transport) config(obj *unstructured.Unstructured, id fleet.RevisionID) map[string]any {
	gvk := obj.GroupVersionKind()
	guess, _ := meta.UnsafeGuessKindToResource(gvk)
	var paths []any
	for _, name := range slices.Sorted(maps.Keys(t.options.Feedback)) {
		paths = append(paths, map[string]any{"name": name, "path": cmp.Or(t.options.Feedback[name], "."+name)})
	}
	expression := fmt.Sprintf("object.metadata.annotations[%q] == %q && (!has(object.status) || !has(object.status.observedGeneration) || object.status.observedGeneration >= object.metadata.generation)",
		v1alpha1.RevisionAnnotation, string(id))
	c := map[string]any{
		"resourceIdentifier": map[string]any{"group": gvk.Group, "resource": guess.Resource, "namespace": obj.GetNamespace(), "name": obj.GetName()},
		"conditionRules": []any{map[string]any{"type": "CEL", "condition": revisionShown, "celExpressions": []any{expression},
			"message": "shows " + string(id)}},
	}
	if len(paths) > 0 {
		c["feedbackRules"] = []any{map[string]any{"type": "JSONPaths", "jsonPaths": paths}}
	}
	return c
}

// Disown does nothing: a ManifestWork has no owner references.
func (t *Transport) Disown(context.Context, player.View, string) error { return nil }

// leaves is whether the deletion of a ManifestWork leaves its objects in the cluster.
const (
	leaves  = "Orphan"
	removes = "Foreground"
)

func deletionOf(work *unstructured.Unstructured) string {
	return text(work.Object, "spec", "deleteOption", "propagationPolicy")
}

// Remove deletes the ManifestWork of one cluster: name is <placement>/<cluster>. One whose deletion
// leaves the objects is changed first, and deleted once the agent has observed the change.
func (t *Transport) Remove(ctx context.Context, v player.View, name string) ([]staged.Event, error) {
	_, cluster, _ := strings.Cut(name, "/")
	key := types.NamespacedName{Namespace: cluster, Name: workName(v)}
	work := t.works[key]
	if work == nil || work.GetDeletionTimestamp() != nil {
		return nil, nil
	}
	if deletionOf(work) == leaves {
		want := work.DeepCopy()
		_ = unstructured.SetNestedField(want.Object, removes, "spec", "deleteOption", "propagationPolicy") // it is there
		stored, err := t.write(ctx, work, want)
		if err == nil {
			t.note(key, stored)
		}
		return nil, err
	}
	if !isObserved(work) {
		return nil, nil // the agent does not know yet that the objects go
	}
	uid, version := work.GetUID(), work.GetResourceVersion()
	err := t.hub.Delete(ctx, Kind, key, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	t.note(key, nil)
	return []staged.Event{{Type: "Normal", Reason: "ManifestWorkDeleted", Message: "deleted ManifestWork " + key.String()}}, nil
}

// workName is the name of the ManifestWorks of a policy.
func workName(v player.View) string { return "stagecraft-" + v.Policy.Name() }

func versionOf(work *unstructured.Unstructured) int64 {
	n, _ := strconv.ParseInt(work.GetAnnotations()[v1alpha1.VersionAnnotation], 10, 64)
	return n
}

func revisionOf(work *unstructured.Unstructured) fleet.RevisionID {
	return fleet.RevisionID(work.GetAnnotations()[v1alpha1.RevisionAnnotation])
}

func conditionsOf(fields map[string]any, path ...string) (all []map[string]any) {
	list, _, _ := unstructured.NestedSlice(fields, path...)
	for _, c := range list {
		if f, ok := c.(map[string]any); ok {
			all = append(all, f)
		}
	}
	return all
}

func observed(c map[string]any) int64 {
	n, _, _ := unstructured.NestedInt64(c, "observedGeneration")
	return n
}

func text(fields map[string]any, path ...string) string {
	value, _, _ := unstructured.NestedString(fields, path...)
	return value
}
