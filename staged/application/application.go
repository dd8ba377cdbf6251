package application

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/listwatch"
	"github.com/stagecraft-go/stagecraft/stage/transport"
	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/player"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// Kind is the kind of an Application.
var Kind = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}

// SourceAnnotation holds the wanted source, as JSON, in a StagedBindingPolicy.
const SourceAnnotation = "source." + v1alpha1.Group

// placementAnnotation is the annotation of an Application that says which placement it is in.
const placementAnnotation = v1alpha1.Group + "/placement"

// Options of [New].
type Options struct {
	// Clusters returns the labels of the clusters that exist, by name. It must not be nil.
	Clusters func() map[string]map[string]string
	// Name returns the name of the Application of a cluster. It must not be nil.
	Name func(cluster string) string
	// Namespace is that of the Applications.
	Namespace string
	// Collectors are the StatusCollectors that policies name.
	Collectors map[string]*kubestellar.Collector
}

// ByCluster names the Application of a cluster <prefix>-<cluster>.
func ByCluster(prefix string) func(string) string {
	return func(cluster string) string { return prefix + "-" + cluster }
}

// A Transport is a [player.Transport] for Argo CD.
type Transport struct {
	hub     transport.Transport
	options Options
	apps    map[string]*unstructured.Unstructured // by name
	faults  map[string]error                      // of the last writes, by name
}

var _ player.Transport = (*Transport)(nil)

// New returns a Transport that has seen nothing yet.
func New(hub transport.Transport, o Options) *Transport {
	return &Transport{hub: listwatch.Bounded(hub, listwatch.RequestTimeout), options: o, apps: map[string]*unstructured.Unstructured{}, faults: map[string]error{}}
}

// Kinds returns the kind of Applications.
func (t *Transport) Kinds() map[schema.GroupVersionKind]transport.Reader {
	return map[schema.GroupVersionKind]transport.Reader{Kind: t.hub}
}

// Observe notes an Application.
func (t *Transport) Observe(kind schema.GroupVersionKind, obj *unstructured.Unstructured, deleted bool) ([]string, error) {
	if kind != Kind || obj.GetNamespace() != t.options.Namespace {
		return nil, nil
	}
	t.apps[obj.GetName()] = obj
	if deleted {
		delete(t.apps, obj.GetName())
	}
	return []string{""}, nil
}

// immutable is what a targetRevision must look like: a commit, or a digest.
var immutable = regexp.MustCompile(`^([0-9a-f]{40}|sha256:[0-9a-f]{64})$`)

// wanted returns the source that a policy asks for. The error says why it is none.
func wanted(v player.View) (map[string]any, error) {
	var source map[string]any
	if err := json.Unmarshal([]byte(v.Meta.Annotations[SourceAnnotation]), &source); err != nil {
		return nil, fmt.Errorf("annotation %s: want the source of an Application, as JSON: %w", SourceAnnotation, err)
	}
	if target, _ := source["targetRevision"].(string); !immutable.MatchString(target) {
		return nil, fmt.Errorf("annotation %s: targetRevision: want a commit or a digest, got %q: a branch or a tag names another content tomorrow", SourceAnnotation, target)
	}
	return source, nil
}

// identify returns the revision of a source, and notes its content.
func identify(v player.View, source map[string]any) fleet.RevisionID {
	content, err := fleet.NewSnapshot([]*unstructured.Unstructured{contentOf(source)})
	if err != nil || source == nil {
		return ""
	}
	v.Contents[content.Revision] = content
	return content.Revision
}

// contentOf makes an object of a source, for a snapshot.
func contentOf(source map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": Kind.GroupVersion().String(), "kind": Kind.Kind,
		"metadata": map[string]any{}, "spec": map[string]any{"source": source}}}
}

// World returns what Applications say of the clusters of a policy.
func (t *Transport) World(v player.View) fleet.World {
	w := fleet.World{Meta: v.Meta, Now: v.Now, Collectors: t.options.Collectors, Can: fleet.Capabilities{
		Inventory: true, Content: true, OldRevision: true, ByName: true, Best: fleet.EvidenceExact, Kind: "Application", Bound: "Application"}}
	clause := control.DownsyncClause{Group: Kind.Group, Version: Kind.Version, Resource: "applications", Namespace: t.options.Namespace, Name: v.Policy.Name()}
	for _, c := range v.Policy.Definition().Spec.Downsync {
		clause.StatusCollectors = append(clause.StatusCollectors, c.StatusCollectors...)
	}
	source, err := wanted(v)
	v.Workload = fleet.Workload{Revision: identify(v, source), Objects: []*fleet.Object{{Clause: clause}}}
	if w.Workload = v.Workload; err != nil {
		w.Workload.Fault = err.Error()
	}
	placements := map[string]*fleet.Placement{}
	labels := t.options.Clusters()
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		w.Clusters = append(w.Clusters, t.cluster(v, name, labels[name], clause, placements))
		if owner := t.ownerOf(v, name); owner != "" && v.Policy.Selects(labels[name]) {
			addConflict(&w, owner, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(placements)) {
		placements[name].Clusters = placements[name].Has
		w.Placements = append(w.Placements, *placements[name])
	}
	return w
}

// cluster returns what the Application of a cluster says.
func (t *Transport) cluster(v player.View, name string, labels map[string]string, clause control.DownsyncClause, placements map[string]*fleet.Placement) fleet.Cluster {
	c := fleet.Cluster{Name: name, Labels: labels, Fault: t.fault(name)}
	app := t.apps[t.options.Name(name)]
	if app == nil || t.ownerOf(v, name) != "" {
		return c
	}
	source, _, _ := unstructured.NestedMap(app.Object, "spec", "source")
	id := identify(v, source)
	placement := placementOf(v, app)
	if placement != "" {
		p := placements[placement]
		if p == nil {
			p = &fleet.Placement{Name: placement, Ready: true, Open: true, Same: true}
			placements[placement] = p
		}
		p.Has, p.Revision, p.Version = append(p.Has, name), id, max(p.Version, versionOf(app))
	}
	c.Had = placement == "" && text(app, "status", "sync", "revision") != ""
	if !isSynced(app, source) {
		c.Applied = v.AppliedBefore(name, id)
		return c
	}
	c.Applied = id
	status := map[string]any{"health": text(app, "status", "health", "status"), "sync": text(app, "status", "sync", "status"),
		"revision": text(app, "status", "sync", "revision"), "message": text(app, "status", "health", "message")}
	ref := fleet.ObjectRef{Group: clause.Group, Resource: clause.Resource, Namespace: clause.Namespace, Name: clause.Name}
	c.Reports = []fleet.Report{{Object: ref, Revision: id, Evidence: fleet.EvidenceExact, Status: status}}
	return c
}

// isSynced reports whether an Application was compared with its source, has it, and runs no operation.
func isSynced(app *unstructured.Unstructured, source map[string]any) bool {
	compared, _, _ := unstructured.NestedMap(app.Object, "status", "sync", "comparedTo", "source")
	_, running, _ := unstructured.NestedMap(app.Object, "operation")
	phase := text(app, "status", "operationState", "phase")
	one, _ := json.Marshal(compared)
	other, _ := json.Marshal(source)
	return text(app, "status", "sync", "status") == "Synced" && string(one) == string(other) && !running && phase != "Running" &&
		text(app, "status", "sync", "revision") == source["targetRevision"]
}

// fault says why an Application cannot be given a source, or will not bring it to its cluster; "": it will.
func (t *Transport) fault(cluster string) string {
	name := t.options.Name(cluster)
	app := t.apps[name]
	if app == nil {
		return fmt.Sprintf("Application %s/%s does not exist", t.options.Namespace, name)
	}
	_, several, _ := unstructured.NestedSlice(app.Object, "spec", "sources")
	_, automated, _ := unstructured.NestedMap(app.Object, "spec", "syncPolicy", "automated")
	switch owner := ownedBySet(app); {
	case owner != "":
		return fmt.Sprintf("Application %s belongs to ApplicationSet %s, which would write the source back", name, owner)
	case several:
		return fmt.Sprintf("Application %s has spec.sources, before which spec.source does not count: write one spec.source", name)
	case !automated && text(app, "status", "sync", "status") == "OutOfSync":
		return fmt.Sprintf("Application %s is OutOfSync and has no spec.syncPolicy.automated: sync it, or write that", name)
	case t.faults[name] != nil:
		return t.faults[name].Error()
	}
	return ""
}

// cannotTake reports whether writing a source would change nothing, or not for long.
func cannotTake(app *unstructured.Unstructured) bool {
	_, several, _ := unstructured.NestedSlice(app.Object, "spec", "sources")
	return several || ownedBySet(app) != ""
}

// placementOf returns the placement of the policy that an Application is in; "": it is in no placement of it.
func placementOf(v player.View, app *unstructured.Unstructured) string {
	placement := app.GetAnnotations()[placementAnnotation]
	if !strings.HasPrefix(placement, v.Policy.Name()+v1alpha1.StageSeparator) {
		return ""
	}
	return placement
}

// ownerOf returns another policy that exists and has the Application of a cluster; "": no other policy has it.
func (t *Transport) ownerOf(v player.View, cluster string) string {
	app := t.apps[t.options.Name(cluster)]
	if app == nil || placementOf(v, app) != "" {
		return ""
	}
	owner, _, has := strings.Cut(app.GetAnnotations()[placementAnnotation], v1alpha1.StageSeparator)
	if !has || v.Policies != nil && !slices.Contains(v.Policies, owner) {
		return ""
	}
	return v1alpha1.Kind + " " + owner
}

// addConflict notes that another policy has the Application of a cluster. It was first.
func addConflict(w *fleet.World, owner, cluster string) {
	for n := range w.Conflicts {
		if c := &w.Conflicts[n]; c.Owner == owner {
			c.Clusters = append(c.Clusters, cluster)
			return
		}
	}
	w.Conflicts = append(w.Conflicts, v1alpha1.Conflict{Owner: owner, Clusters: []string{cluster}})
}

func ownedBySet(app *unstructured.Unstructured) string {
	for _, o := range app.GetOwnerReferences() {
		if o.Kind == "ApplicationSet" {
			return o.Name
		}
	}
	return ""
}

// Differs reports whether an Application of the placement has another source.
func (t *Transport) Differs(v player.View, p fleet.Placement) bool {
	return slices.ContainsFunc(p.Clusters, func(c string) bool { return t.differs(v, p, c) })
}

func (t *Transport) differs(v player.View, p fleet.Placement, cluster string) bool {
	app := t.apps[t.options.Name(cluster)]
	if app == nil || cannotTake(app) {
		return false
	}
	source, _, _ := unstructured.NestedMap(app.Object, "spec", "source")
	return identify(v, source) != p.Revision || app.GetAnnotations()[placementAnnotation] != p.Name
}

// Place patches the sources of the Applications that differ. One that cannot be patched keeps no other from that.
func (t *Transport) Place(ctx context.Context, v player.View, p fleet.Placement, content fleet.Snapshot) (events []staged.Event, err error) {
	if len(content.Objects) != 1 {
		return nil, fmt.Errorf("the source of %s is not known", p.Revision)
	}
	source, _, _ := unstructured.NestedMap(content.Objects[0].Object, "spec", "source")
	for _, cluster := range p.Clusters {
		app := t.apps[t.options.Name(cluster)]
		if app == nil || !t.differs(v, p, cluster) {
			continue
		}
		if placementOf(v, app) != "" && versionOf(app) > p.Version {
			return events, fmt.Errorf("Application %s has version %d, and %d is older", app.GetName(), versionOf(app), p.Version)
		}
		e := t.patch(ctx, app, map[string]any{placementAnnotation: p.Name, v1alpha1.VersionAnnotation: strconv.FormatInt(p.Version, 10)}, replacing(app, source))
		if delete(t.faults, app.GetName()); e != nil {
			if err = errors.Join(err, e); !apierrors.IsConflict(e) {
				t.faults[app.GetName()] = e
			}
			continue
		}
		events = append(events, staged.Event{Type: "Normal", Reason: "ApplicationPatched", Message: "patched the source of Application " + app.GetName()})
	}
	return events, err
}

// patch changes the annotations of an Application and, unless it is nil, the source.
func (t *Transport) patch(ctx context.Context, app *unstructured.Unstructured, annotations, source map[string]any) error {
	fields := map[string]any{"metadata": map[string]any{"uid": app.GetUID(), "resourceVersion": app.GetResourceVersion(), "annotations": annotations}}
	if source != nil {
		fields["spec"] = map[string]any{"source": source}
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	stored, err := t.hub.Patch(ctx, Kind, types.NamespacedName{Namespace: t.options.Namespace, Name: app.GetName()}, types.MergePatchType, data, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("Application %s: %w", app.GetName(), err)
	}
	t.apps[app.GetName()] = stored
	return nil
}

// replacing returns a merge patch that makes one source of another: fields that are gone are removed.
func replacing(app *unstructured.Unstructured, source map[string]any) map[string]any {
	patch := maps.Clone(source)
	old, _, _ := unstructured.NestedMap(app.Object, "spec", "source")
	for field := range old {
		if _, stays := source[field]; !stays {
			patch[field] = nil
		}
	}
	return patch
}

// Disown does nothing: an Application belongs to its authors.
func (t *Transport) Disown(context.Context, player.View, string) error { return nil }

// Remove lets go of the Application of one cluster: name is <placement>/<cluster>. The Application
// belongs to its authors, so that it stays, with the source that it has.
func (t *Transport) Remove(ctx context.Context, v player.View, name string) ([]staged.Event, error) {
	_, cluster, _ := strings.Cut(name, "/")
	app := t.apps[t.options.Name(cluster)]
	if app == nil || placementOf(v, app) == "" {
		return nil, nil
	}
	if err := t.patch(ctx, app, map[string]any{placementAnnotation: nil, v1alpha1.VersionAnnotation: nil}, nil); err != nil {
		return nil, err
	}
	return []staged.Event{{Type: "Normal", Reason: "ApplicationReleased", Message: "let go of Application " + app.GetName()}}, nil
}

func versionOf(app *unstructured.Unstructured) int64 {
	n, _ := strconv.ParseInt(app.GetAnnotations()[v1alpha1.VersionAnnotation], 10, 64)
	return n
}

func text(obj *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(obj.Object, path...)
	return value
}
