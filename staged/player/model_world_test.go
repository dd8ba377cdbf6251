package player_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/manifestwork"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A version is the workload at a moment: the images of two Deployments. The second one may be
// missing (0).
type version struct{ web, api int }

func (v version) String() string { return fmt.Sprintf("web%d/api%d", v.web, v.api) }

// A live is a Deployment in a cluster, and what its controller has written.
type live struct {
	image                int
	stamp                string // the annotation of a copy that names its revision
	generation, observed int64
	delivered            int64 // the generation that the image came with
	about                int   // the image that the status is about
	aboutGeneration      int64 // and the generation that this image came with
	turn, aboutTurn      int   // the same, as numbers of all deliveries of a history
	ready, bad           int64
	owners               map[string]bool // the ManifestWorks that hold it
}

func (l *live) status() map[string]any {
	return map[string]any{"observedGeneration": l.observed, "ready": l.ready, "bad": l.bad}
}

// A member is a cluster, its agents, and what really happens there.
type member struct {
	name    string
	labels  map[string]any
	offline bool
	objects map[string]*live
	read    map[string]*statusRead // what the status agent has read last
	applied map[string]int64       // the generation of each ManifestWork that was applied
	beat    int64
}

// A statusRead is a status in the cache of a status agent.
type statusRead struct {
	object string
	status map[string]any
	about  int  // the image that it is about
	turn   int  // and the number of the delivery that brought it
	scaled bool // its generation is not that of a delivery: an autoscaler has raised it
}

// has returns what a cluster really has. It is zero while it has none of the objects.
func (m *member) has() (v version) {
	if o := m.objects["web"]; o != nil {
		v.web = o.image
	}
	if o := m.objects["api"]; o != nil {
		v.api = o.image
	}
	return v
}

// isGood reports whether everything is ready, with what the cluster has.
func (m *member) isGood() bool {
	for _, o := range m.objects {
		if o.about != o.image || o.observed != o.generation || o.ready == 0 || o.bad > 0 {
			return false
		}
	}
	return len(m.objects) > 0
}

// imageOf is the image of an object.
func (v version) imageOf(object string) int {
	if object == "web" {
		return v.web
	}
	return v.api
}

// manifestOf returns a Deployment as clusters receive it.
func manifestOf(name string, image int) map[string]any {
	return map[string]any{"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": name, "namespace": "shop", "labels": map[string]any{"app": "web"}},
		"spec":     map[string]any{"image": fmt.Sprint(image)}}
}

func imageIn(manifest map[string]any) (image int) {
	text, _, _ := unstructured.NestedString(manifest, "spec", "image")
	_, _ = fmt.Sscan(text, &image)
	return image
}

func (v version) manifests() (all []any) {
	if v.api > 0 {
		all = append(all, manifestOf("api", v.api))
	}
	return append(all, manifestOf("web", v.web))
}

// sourceOf is the source of an Application with a version: a commit for web, and a path for api.
func sourceOf(v version) map[string]any {
	return map[string]any{"repoURL": "https://example.org/web.git", "path": fmt.Sprint(v.api), "targetRevision": fmt.Sprintf("%040d", v.web)}
}

// versionOf is the version that a source has. It is zero for the source of an Application that was never
// patched.
func versionOf(source map[string]any) (v version) {
	_, _ = fmt.Sscan(fmt.Sprint(source["targetRevision"]), &v.web)
	_, _ = fmt.Sscan(fmt.Sprint(source["path"]), &v.api)
	return v
}

// idOf is the identity of a version by the specification: the hash of the canonical JSON of what clusters
// receive.
func (h *history) idOf(v version) string {
	list := v.manifests()
	if h.kind == overArgo {
		list = []any{map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": map[string]any{}, "spec": map[string]any{"source": sourceOf(v)}}}
	}
	data, _ := json.Marshal(list)
	sum := sha256.Sum256(data)
	id := "sha256:" + hex.EncodeToString(sum[:])
	h.versions[id] = v
	return id
}

// deliver gives a cluster an object, or another content of it.
func (h *history) deliver(m *member, name string, image int, stamp, owner string) {
	o := m.objects[name]
	before := m.has()
	switch {
	case o == nil:
		m.objects[name] = &live{image: image, stamp: stamp, generation: 1, delivered: 1, owners: map[string]bool{owner: true}}
	case o.image != image || o.stamp != stamp:
		if o.image != image {
			o.generation++
			o.delivered = o.generation
		}
		o.image, o.stamp = image, stamp
		fallthrough
	default:
		o.owners[owner] = true
	}
	if o := m.objects[name]; m.has() != before {
		h.deliveries++
		o.turn = h.deliveries
		set(h.deliveredAt, m.name+"/"+name, image, h.deliveries)
		h.received(m, before)
	}
}

// withdraw takes an object from a cluster.
func (h *history) withdraw(m *member, name string) {
	delete(m.objects, name)
	delete(m.read, name)
	if len(m.objects) == 0 {
		h.lost(m)
	}
}

// act is what the controller of a cluster does with its objects: it sees a new generation, then Pods
// become ready, or do not.
func (h *history) act(m *member) {
	for _, name := range sortedNames(m.objects) {
		o := m.objects[name]
		switch h.healthOf(m, name, o.image) {
		case _ill:
			o.ready, o.bad = 0, h.when(o, 1)
		case _slow:
			o.ready, o.bad = 0, 0
		case _flapping:
			o.ready, o.bad = 1-o.ready, 0
		default:
			o.ready, o.bad = h.when(o, 1), 0
		}
		o.observed, o.about, o.aboutGeneration, o.aboutTurn = o.generation, o.image, o.delivered, o.turn
		if o.ready > 0 && o.bad == 0 {
			set(h.fit, m.name+"/"+name, o.image, o.turn)
		}
		if o.bad > 0 {
			set(h.sick, m.name+"/"+name, o.image, true)
		}
	}
	h.looked(m)
}

// when is n if the controller has seen the present generation before, else 0: Pods take their time.
func (h *history) when(o *live, n int64) int64 {
	if o.observed == o.generation {
		return n
	}
	return 0
}

// A health is how a version behaves in a cluster.
type health int

const (
	well health = iota
	_ill
	_slow
	_flapping
)

func (h *history) healthOf(m *member, object string, image int) health {
	for _, k := range []string{fmt.Sprint(m.name, object, image), fmt.Sprint(object, image), m.name} {
		if is, known := h.health[k]; known {
			return is
		}
	}
	return well
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// look is the status agent reading an object.
func (h *history) look(m *member, name string) {
	o := m.objects[name]
	if o == nil {
		m.read[name] = nil
		return
	}
	m.read[name] = &statusRead{object: name, status: o.status(), about: o.about, turn: o.aboutTurn, scaled: o.observed > o.aboutGeneration}
}

// report writes what the status agent has read, if that has changed.
func (h *history) report(m *member, name string) {
	if m.offline {
		return
	}
	read, known := m.read[name]
	old := h.space.get(workStatusKind, m.name, "ws-"+name)
	switch {
	case !known:
	case read == nil && old != nil:
		h.space.remove(old)
		delete(h.reportedAt, m.name+"/"+name)
	case read == nil:
	default:
		obj := object(workStatusKind, m.name, "ws-"+name, map[string]any{"spec": map[string]any{
			"sourceRef": map[string]any{"group": "apps", "version": "v1", "resource": "deployments", "namespace": "shop", "name": name}}})
		status := maps.Clone(read.status)
		status["beat"] = m.beat
		if before, _, _ := unstructured.NestedInt64(orNothing(old).Object, "status", "observedGeneration"); before != status["observedGeneration"] {
			h.reportedAt[m.name+"/"+name] = h.now
		}
		h.space.setStatus(h.space.setSpec(obj), status)
		h.reads[h.space.get(workStatusKind, m.name, "ws-"+name)] = read
	}
}

// object makes an object.
func object(kind schema.GroupVersionKind, namespace, name string, fields map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: fields}
	obj.SetGroupVersionKind(kind)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return obj
}

// bind computes the Binding of a BindingPolicy.
func (h *history) bind(name string) {
	p, b := h.hub.get(bindingPolicyKind, "", name), h.hub.get(bindingKind, "", name)
	owned := b != nil && p != nil && fmt.Sprint(b.GetOwnerReferences()[0].UID) == string(p.GetUID())
	if b != nil && !owned || p != nil && p.GetDeletionTimestamp() != nil {
		if b != nil {
			h.hub.remove(b)
		}
		for _, s := range h.hub.list(combinedStatusKind) {
			if s.GetLabels()["status.kubestellar.io/binding-policy"] == name {
				h.hub.remove(s)
			}
		}
		if p == nil || p.GetDeletionTimestamp() != nil {
			if p != nil {
				h.hub.remove(p)
			}
			return
		}
	}
	if p == nil {
		return
	}
	var destinations, clauses []any
	for _, c := range sortedNames(h.members) {
		if selectsMember(p, h.members[c].labels) {
			destinations = append(destinations, map[string]any{"clusterId": c})
		}
	}
	for _, d := range h.hub.list(deploymentKind) {
		clauses = append(clauses, map[string]any{"group": "apps", "version": "v1", "resource": "deployments", "namespace": "shop", "name": d.GetName(),
			"resourceVersion": d.GetResourceVersion(), "createOnly": isHeld(p), "statusCollectors": []any{"agg"}})
	}
	made := object(bindingKind, "", name, map[string]any{"spec": map[string]any{"destinations": destinations, "workload": map[string]any{"namespaceScope": clauses}}})
	made.Object["metadata"].(map[string]any)["ownerReferences"] = []any{map[string]any{"apiVersion": control.GroupVersion.String(), "kind": "BindingPolicy", "name": name, "uid": string(p.GetUID())}}
	h.hub.setSpec(made)
	h.noteBound(p, destinations)
}

// selectsMember reports whether a BindingPolicy selects a cluster with these labels.
func selectsMember(bindingPolicy *unstructured.Unstructured, labels map[string]any) bool {
	selectors, _, _ := unstructured.NestedSlice(bindingPolicy.Object, "spec", "clusterSelectors")
	for _, s := range selectors {
		fields := s.(map[string]any)
		want, _ := fields["matchLabels"].(map[string]any)
		matches := true
		for name, value := range want {
			matches = matches && labels[name] == value
		}
		expressions, _ := fields["matchExpressions"].([]any)
		for _, e := range expressions {
			values, _ := e.(map[string]any)["values"].([]any)
			matches = matches && slices.Contains(values, labels[e.(map[string]any)["key"].(string)])
		}
		if matches {
			return true
		}
	}
	return false
}

// transport reads the objects of the hub, live, and writes or deletes the ManifestWork of a Binding for a
// cluster.
func (h *history) transport(binding, cluster string) {
	b, work := h.hub.get(bindingKind, "", binding), h.space.get(manifestwork.Kind, cluster, binding)
	wanted := false
	if b != nil && h.members[cluster] != nil {
		destinations, _, _ := unstructured.NestedSlice(b.Object, "spec", "destinations")
		wanted = slices.ContainsFunc(destinations, func(d any) bool { return d.(map[string]any)["clusterId"] == cluster })
	}
	switch {
	case !wanted && work != nil && work.GetDeletionTimestamp() == nil:
		h.space.terminate(work)
	case !wanted || work != nil && work.GetDeletionTimestamp() != nil:
	default:
		clauses, _, _ := unstructured.NestedSlice(b.Object, "spec", "workload", "namespaceScope")
		strategy := "Update"
		if len(clauses) > 0 && clauses[0].(map[string]any)["createOnly"] == true {
			strategy = "CreateOnly"
		}
		var manifests []any
		for _, d := range h.hub.list(deploymentKind) {
			if manifests = append(manifests, manifestOf(d.GetName(), imageIn(d.Object))); strategy == "Update" {
				h.noteOrder(cluster, d.GetName(), imageIn(d.Object))
			}
		}
		made := object(manifestwork.Kind, cluster, binding, map[string]any{"spec": map[string]any{"workload": map[string]any{"manifests": manifests},
			"manifestConfigs": []any{map[string]any{"updateStrategy": map[string]any{"type": strategy}}}}})
		made.SetLabels(map[string]string{"transport.kubestellar.io/originOwnerReferenceBindingKey": binding})
		h.space.setSpec(made)
	}
}

// noteOrder notes that a cluster is told to take an image, and whether an observedGeneration of before is
// known by then: one that was reported in an earlier second.
func (h *history) noteOrder(cluster, object string, image int) {
	name := cluster + "/" + object
	if h.ordered[name] == image {
		return
	}
	h.ordered[name] = image
	since, reported := h.reportedAt[name]
	set(h.uncounted, name, image, !reported || since.Unix() >= h.now.Unix())
}

// apply is the agent of a cluster, with all its ManifestWorks.
func (h *history) apply(m *member) {
	server := h.workServer()
	if m.offline || server == nil {
		return
	}
	for _, work := range server.list(manifestwork.Kind) {
		if work.GetNamespace() != m.name {
			continue
		}
		if work.GetDeletionTimestamp() != nil {
			h.released[m.name] = h.released[m.name] || work.GetName() == "other"
			for _, name := range sortedNames(m.objects) {
				o := m.objects[name]
				if delete(o.owners, work.GetName()); len(o.owners) == 0 {
					h.withdraw(m, name)
				}
			}
			server.remove(work)
			continue
		}
		h.applyWork(m, work)
	}
}

func (h *history) applyWork(m *member, work *unstructured.Unstructured) {
	m.applied[string(work.GetUID())] = work.GetGeneration()
	before := m.has()
	defer func() {
		if now := m.has(); now != before {
			set(h.previous, m.name, now, before)
		}
	}()
	strategy := strategyOf(work)
	manifests, _, _ := unstructured.NestedSlice(work.Object, "spec", "workload", "manifests")
	kept := map[string]bool{}
	for _, manifest := range manifests {
		fields := manifest.(map[string]any)
		obj := unstructured.Unstructured{Object: fields}
		kept[obj.GetName()] = true
		switch o := m.objects[obj.GetName()]; {
		case strategy == "ReadOnly":
		case strategy == "CreateOnly" && o != nil:
			o.owners[work.GetName()] = true
		default:
			h.deliver(m, obj.GetName(), imageIn(fields), obj.GetAnnotations()[v1alpha1.RevisionAnnotation], work.GetName())
		}
	}
	for _, name := range sortedNames(m.objects) { // an object that is no part of the workload any more
		if o := m.objects[name]; !kept[name] && o.owners[work.GetName()] && len(o.owners) == 1 {
			before := m.has()
			h.withdraw(m, name)
			h.received(m, before)
		}
	}
}

func strategyOf(work *unstructured.Unstructured) string {
	configs, _, _ := unstructured.NestedSlice(work.Object, "spec", "manifestConfigs")
	strategy, _, _ := unstructured.NestedString(configs[0].(map[string]any), "updateStrategy", "type")
	return strategy
}

// confirm writes that ManifestWorks were applied.
func (h *history) confirm(m *member) {
	server := h.workServer()
	if m.offline || server == nil {
		return
	}
	for _, work := range server.list(manifestwork.Kind) {
		if applied := m.applied[string(work.GetUID())]; work.GetNamespace() == m.name && applied > 0 {
			status, _ := work.Object["status"].(map[string]any)
			next := maps.Clone(status)
			if next == nil {
				next = map[string]any{}
			}
			next["conditions"] = []any{map[string]any{"type": "Applied", "status": "True", "observedGeneration": applied}}
			server.setStatus(work, next)
		}
	}
}

// combine writes the CombinedStatus of a Binding, one for each object, from the reports.
func (h *history) combine(name string) {
	p, b := h.hub.get(bindingPolicyKind, "", name), h.hub.get(bindingKind, "", name)
	if h.kind != overHub || p == nil || b == nil || b.GetOwnerReferences()[0].UID != p.GetUID() {
		return
	}
	destinations, _, _ := unstructured.NestedSlice(b.Object, "spec", "destinations")
	for _, d := range h.hub.list(deploymentKind) {
		var ready, bad int64
		for _, to := range destinations {
			report := h.space.get(workStatusKind, to.(map[string]any)["clusterId"].(string), "ws-"+d.GetName())
			if report != nil {
				n, _, _ := unstructured.NestedInt64(report.Object, "status", "ready")
				m, _, _ := unstructured.NestedInt64(report.Object, "status", "bad")
				ready, bad = ready+n, bad+m
			}
		}
		number := func(n int64) any { return map[string]any{"type": "Number", "float": fmt.Sprint(n)} }
		results := []any{map[string]any{"name": "agg", "columnNames": []any{"ready", "bad"}, "rows": []any{map[string]any{"columns": []any{number(ready), number(bad)}}}}}
		made := object(combinedStatusKind, "shop", d.GetName()+"."+string(p.GetUID()), map[string]any{"results": results})
		made.SetLabels(map[string]string{"status.kubestellar.io/binding-policy": name, "status.kubestellar.io/api-group": "apps", "status.kubestellar.io/resource": "deployments",
			"status.kubestellar.io/namespace": "shop", "status.kubestellar.io/name": d.GetName()})
		if old := h.hub.get(combinedStatusKind, "shop", made.GetName()); old == nil || !reflect.DeepEqual(old.Object["results"], made.Object["results"]) {
			if old != nil {
				next := &unstructured.Unstructured{Object: maps.Clone(old.Object)}
				next.Object["results"] = results
				made = next
			}
			h.hub.put(made, "")
			stored := h.hub.get(combinedStatusKind, "shop", made.GetName())
			for _, to := range destinations {
				h.combined[stored] = append(h.combined[stored], to.(map[string]any)["clusterId"].(string))
			}
		}
	}
}
