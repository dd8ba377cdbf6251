package apiserver

import (
	"cmp"
	"context"
	_ "embed" // discovery.json
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	discoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/version"

	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
	"github.com/stagecraft-go/stagecraft/stage/lab/definitions"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// discoveryText is the discovery of kube-apiserver 1.36.3, recorded by internal/dev/e2e.
//
//go:embed discovery.json
var discoveryText []byte

// recordedVersion is a group version in discovery.json.
type recordedVersion struct {
	Group     string                             `json:"group"`
	Version   string                             `json:"version"`
	Resources []discoveryv2.APIResourceDiscovery `json:"resources"`
}

var recorded = sync.OnceValue(func() (versions []recordedVersion) {
	if err := json.Unmarshal(discoveryText, &versions); err != nil {
		panic(err) // the file is part of the program
	}
	return versions
})

// isRecorded reports whether a group is one of kube-apiserver itself.
func isRecorded(group string) bool {
	return slices.ContainsFunc(recorded(), func(v recordedVersion) bool { return v.Group == group })
}

// A resource is what is served under one name.
type resource struct {
	discoveryv2.APIResourceDiscovery
	kind     schema.GroupVersionKind
	storage  schema.GroupVersionKind // the kind as which objects are stored
	version  schema.GroupVersion
	virtual  bool                 // nothing is stored, as for reviews of access
	measured bool                 // nothing is stored: it is what containers use
	scale    *scalePaths          // nil: it has no scale
	columns  func() []printColumn // additionalPrinterColumns of a custom kind, made at the first call: there may be thousands
	schema   map[string]any       // openAPIV3Schema of a custom kind; nil if it is a built-in one

	types       func() (managedfields.TypeConverter, error)
	definition  *unstructured.Unstructured // of a custom kind
	deprecation string                     // a warning, "" if the version is not deprecated
}

// groupResource is the name of the resource in errors.
func (r *resource) groupResource() schema.GroupResource {
	return r.version.WithResource(r.Resource).GroupResource()
}

func (r *resource) isNamespaced() bool { return r.Scope == discoveryv2.ScopeNamespace }

// has reports whether the resource has a subresource with a verb.
func (r *resource) has(subresource, verb string) bool {
	return slices.ContainsFunc(r.Subresources, func(s discoveryv2.APISubresourceDiscovery) bool {
		return s.Subresource == subresource && slices.Contains(s.Verbs, verb)
	})
}

// A group is a group version with its resources.
type group struct {
	schema.GroupVersion
	resources []*resource
}

// A kindIndex knows the resources of a cluster, and learns when definitions change. It is safe for
// concurrent use.
type kindIndex struct {
	cluster *memory.Cluster
	mu      sync.Mutex
	changes *memory.Feed // of definitions
	groups  []group
	index   map[schema.GroupVersionResource]*resource
	v2      func() (*specV2, error) // makes it at the first call, for this state of the definitions
	makeV2  func([]group) (*specV2, error)
}

func (x *kindIndex) start(c *memory.Cluster, makeV2 func([]group) (*specV2, error)) (err error) {
	x.cluster, x.makeV2 = c, makeV2
	x.changes, err = c.Shared().Feed(definitions.Kind, "", metav1.ListOptions{})
	return err
}

// lookup returns a resource; nil if there is none.
func (x *kindIndex) lookup(r schema.GroupVersionResource) *resource {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.refresh()
	return x.index[r]
}

// list returns all group versions, in the order of discovery.
func (x *kindIndex) list() []group {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.refresh()
	return x.groups
}

// refresh builds the index anew if definitions have changed.
func (x *kindIndex) refresh() {
	changed := x.index == nil
	for {
		if _, more := x.changes.Next(); !more {
			break
		}
		changed = true
	}
	if !changed {
		return
	}
	x.groups, x.index = nil, map[schema.GroupVersionResource]*resource{}
	stored := map[schema.GroupVersionKind]memory.Kind{}
	for _, k := range x.cluster.Kinds() {
		stored[k.GroupVersionKind] = k
	}
	known := maps.Clone(stored)
	for _, v := range recorded() {
		x.add(builtinGroup(v, known, stored))
	}
	x.addCustom(stored)
	if containers.Of(x.cluster).MeasuresUsage() {
		x.add(usageGroup())
	}
	groups := x.groups
	x.v2 = sync.OnceValues(func() (*specV2, error) { return x.makeV2(groups) })
}

func (x *kindIndex) add(g group) {
	if len(g.resources) == 0 {
		return
	}
	x.groups = append(x.groups, g)
	for _, r := range g.resources {
		r.types = sync.OnceValues(r.newTypes)
		x.index[g.WithResource(r.Resource)] = r
	}
}

// builtinGroup returns what a cluster stores of a group version of kube-apiserver, and what needs no
// storage. It takes these kinds out of rest.
func builtinGroup(v recordedVersion, stored, rest map[schema.GroupVersionKind]memory.Kind) group {
	g := group{GroupVersion: schema.GroupVersion{Group: v.Group, Version: v.Version}}
	for _, d := range v.Resources {
		kind := g.WithKind(d.ResponseKind.Kind)
		_, isStored := stored[storageOf(kind)]
		if !isStored && !isVirtual(kind.GroupKind()) {
			continue
		}
		delete(rest, kind)
		d.Subresources = slices.DeleteFunc(slices.Clone(d.Subresources), func(s discoveryv2.APISubresourceDiscovery) bool {
			return !servedSubresources[s.Subresource]
		})
		if kind == nodes {
			d.Subresources = slices.Insert(d.Subresources, 0, nodeProxy)
		}
		r := &resource{APIResourceDiscovery: d, kind: kind, storage: storageOf(kind), version: g.GroupVersion, virtual: !isStored}
		if r.has("scale", "get") {
			r.scale = builtinScale
		}
		g.resources = append(g.resources, r)
	}
	return g
}

// addCustom adds the kinds that discovery.json does not have: those of definitions, and those that
// the cluster was made with.
func (x *kindIndex) addCustom(stored map[schema.GroupVersionKind]memory.Kind) {
	groups := map[schema.GroupVersion]*group{}
	names := x.definedNames()
	for kind, k := range stored {
		gv := kind.GroupVersion()
		if groups[gv] == nil {
			groups[gv] = &group{GroupVersion: gv}
		}
		groups[gv].resources = append(groups[gv].resources, customResource(k, names[kind]))
	}
	sorted := make([]group, 0, len(groups))
	for _, g := range groups {
		slices.SortFunc(g.resources, func(a, b *resource) int { return cmp.Compare(a.Resource, b.Resource) })
		sorted = append(sorted, *g)
	}
	slices.SortFunc(sorted, func(a, b group) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), version.CompareKubeAwareVersionStrings(b.Version, a.Version))
	})
	for _, g := range sorted {
		x.add(g)
	}
}

// A customKind is what a definition says of a kind. Its parts are those of the stored definition.
type customKind struct {
	definition *unstructured.Unstructured
	names      map[string]any // spec.names
	version    map[string]any // an item of spec.versions
}

// definedNames returns what definitions say of their kinds.
func (x *kindIndex) definedNames() map[schema.GroupVersionKind]customKind {
	kinds := map[schema.GroupVersionKind]customKind{}
	found, err := x.cluster.Shared().List(context.Background(), definitions.Kind, "", metav1.ListOptions{})
	if err != nil {
		return kinds
	}
	for i := range found.Items {
		d := &found.Items[i]
		group, _, _ := unstructured.NestedString(d.Object, "spec", "group")
		names, _ := object.Map(d.Object, "spec", "names")
		versions, _ := object.Slice(d.Object, "spec", "versions")
		for _, v := range versions {
			if fields, ok := v.(map[string]any); ok {
				kind := schema.GroupVersionKind{Group: group, Version: text(fields, "name"), Kind: text(names, "kind")}
				kinds[kind] = customKind{d, names, fields}
			}
		}
	}
	return kinds
}

var (
	objectVerbs = []string{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
	fieldVerbs  = []string{"get", "patch", "update"}
)

// customResource describes a kind without recorded discovery.
func customResource(k memory.Kind, c customKind) *resource {
	r := &resource{kind: k.GroupVersionKind, storage: k.GroupVersionKind, version: k.GroupVersion(), APIResourceDiscovery: discoveryv2.APIResourceDiscovery{
		Resource: k.Resource, Scope: discoveryv2.ScopeNamespace, Verbs: objectVerbs,
		SingularResource: cmp.Or(text(c.names, "singular"), strings.ToLower(k.Kind)),
		ResponseKind:     &metav1.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind},
	}}
	if k.ClusterScoped {
		r.Scope = discoveryv2.ScopeCluster
	}
	r.ShortNames, _, _ = unstructured.NestedStringSlice(c.names, "shortNames")
	r.Categories, _, _ = unstructured.NestedStringSlice(c.names, "categories")
	if k.Status {
		r.Subresources = append(r.Subresources, discoveryv2.APISubresourceDiscovery{
			Subresource: "status", ResponseKind: r.ResponseKind, Verbs: fieldVerbs})
	}
	if scale, found, _ := unstructured.NestedMap(c.version, "subresources", "scale"); found {
		r.scale = newScalePaths(scale)
		r.Subresources = append(r.Subresources, discoveryv2.APISubresourceDiscovery{
			Subresource: "scale", ResponseKind: &metav1.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}, Verbs: fieldVerbs})
	}
	r.columns, r.definition = columnsOf(c.version), c.definition
	r.deprecation = deprecationOf(c)
	if r.schema, _ = object.Map(c.version, "schema", "openAPIV3Schema"); r.schema == nil {
		r.schema = map[string]any{"type": "object"}
	}
	return r
}

func text(m map[string]any, field string) string {
	s, _ := m[field].(string)
	return s
}
