package apiserver

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	discoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// serveIndex answers / with the paths that are served, sorted.
func serveIndex(s *Server, w http.ResponseWriter, _ *http.Request) {
	paths := []string{"/.well-known/openid-configuration", "/api", "/api/v1", "/apis", "/apis/", "/healthz", "/livez", "/metrics", "/metrics/slis",
		"/openapi/v2", "/openapi/v3", "/openapi/v3/", "/openid/v1/jwks", "/readyz", "/version"}
	for _, g := range s.groups() {
		paths = append(paths, "/apis/"+g.Name)
		for _, v := range g.Versions {
			paths = append(paths, "/apis/"+v.GroupVersion)
		}
	}
	slices.Sort(paths)
	data, err := json.MarshalIndent(metav1.RootPaths{Paths: paths}, "", "  ")
	if err != nil {
		panic(err)
	}
	writeBytes(w, http.StatusOK, jsonType, data)
}

// serveVersion answers /version. The build metadata tells that this is no kube-apiserver.
func serveVersion(_ *Server, w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, build)
}

// build is what the server says of itself.
var build = version.Info{
	Major: "1", Minor: "36", EmulationMajor: "1", EmulationMinor: "36", MinCompatibilityMajor: "1", MinCompatibilityMinor: "35",
	GitVersion: "v1.36.3+stagecraft", GitTreeState: "clean", BuildDate: "1970-01-01T00:00:00Z", Compiler: "gc", Platform: "linux/amd64",
}

// serveNothing answers a path that does not exist.
func serveNothing(_ *Server, w http.ResponseWriter, _ *http.Request) {
	writeText(w, http.StatusNotFound, "404 page not found\n")
}

// serveCoreGroup answers /api.
func serveCoreGroup(s *Server, w http.ResponseWriter, r *http.Request) {
	if acceptsAggregated(r) {
		s.writeAggregated(w, func(g group) bool { return g.Group == "" })
		return
	}
	writeJSON(w, http.StatusOK, metav1.APIVersions{
		TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"},
		ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: r.Host}},
	})
}

// serveGroups answers /apis.
func serveGroups(s *Server, w http.ResponseWriter, r *http.Request) {
	if acceptsAggregated(r) {
		s.writeAggregated(w, func(g group) bool { return g.Group != "" })
		return
	}
	writeJSON(w, http.StatusOK, metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: s.groups()})
}

// groups lists the groups but the core one, each with its versions.
func (s *Server) groups() (all []metav1.APIGroup) {
	for _, g := range s.kinds.list() {
		if g.Group == "" {
			continue
		}
		v := metav1.GroupVersionForDiscovery{GroupVersion: g.String(), Version: g.Version}
		i := slices.IndexFunc(all, func(have metav1.APIGroup) bool { return have.Name == g.Group })
		if i < 0 {
			all = append(all, metav1.APIGroup{Name: g.Group, PreferredVersion: v})
			i = len(all) - 1
		}
		all[i].Versions = append(all[i].Versions, v)
	}
	return all
}

// groupEndpoint answers /apis/GROUP.
type groupEndpoint string

func (name groupEndpoint) serve(s *Server, w http.ResponseWriter, r *http.Request) {
	groups := s.groups()
	i := slices.IndexFunc(groups, func(g metav1.APIGroup) bool { return g.Name == string(name) })
	if i < 0 {
		serveNothing(s, w, r)
		return
	}
	groups[i].TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
	writeJSON(w, http.StatusOK, groups[i])
}

// versionEndpoint answers /api/v1 and /apis/GROUP/VERSION.
type versionEndpoint schema.GroupVersion

func (v versionEndpoint) serve(s *Server, w http.ResponseWriter, r *http.Request) {
	gv := schema.GroupVersion(v)
	for _, g := range s.kinds.list() {
		if g.GroupVersion == gv {
			list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList"}, GroupVersion: gv.String(), APIResources: g.unaggregated()}
			if gv.Group != "" {
				list.APIVersion = "v1"
			}
			writeJSON(w, http.StatusOK, list)
			return
		}
	}
	if s.serveAggregated(gv, w, r) {
		return
	}
	if slices.ContainsFunc(s.kinds.list(), func(g group) bool { return g.Group == gv.Group }) {
		writeError(w, r, errUnknown())
		return
	}
	serveNothing(s, w, r)
}

// unaggregated lists the resources and subresources of a group version.
func (g group) unaggregated() (all []metav1.APIResource) {
	for _, r := range g.resources {
		of := metav1.APIResource{Name: r.Resource, SingularName: r.SingularResource, Namespaced: r.isNamespaced(), Kind: r.kind.Kind, Verbs: r.Verbs, ShortNames: r.ShortNames, Categories: r.Categories,
			StorageVersionHash: r.storageVersionHash()}
		all = append(all, of)
		for _, sub := range r.Subresources {
			kind := sub.ResponseKind
			all = append(all, metav1.APIResource{Name: r.Resource + "/" + sub.Subresource, Namespaced: r.isNamespaced(),
				Group: otherGroup(g, kind), Version: otherVersion(g, kind), Kind: kind.Kind, Verbs: sub.Verbs})
		}
	}
	return all
}

// storedEarlier are the kinds that kube-apiserver 1.36 stores in a version that it does not serve.
var storedEarlier = map[schema.GroupKind]string{
	{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicy"}:        "v1beta1",
	{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicyBinding"}: "v1beta1",
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:               "v1beta1",
}

// storageVersionHash changes with the kind as which objects are stored; "" if none are.
func (r *resource) storageVersionHash() string {
	if r.virtual || r.measured {
		return ""
	}
	version := cmp.Or(storedEarlier[r.storage.GroupKind()], r.storage.Version)
	sum := sha256.Sum256([]byte(r.storage.Group + "/" + version + "/" + r.storage.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}

// otherGroup and otherVersion are those of a subresource's kind if they are not those of the
// resource.
func otherGroup(g group, kind *metav1.GroupVersionKind) string {
	if kind.Group == g.Group {
		return ""
	}
	return kind.Group
}

func otherVersion(g group, kind *metav1.GroupVersionKind) string {
	if kind.Group == g.Group {
		return ""
	}
	return kind.Version
}

// aggregatedType is the media type of aggregated discovery.
const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// acceptsAggregated reports whether a client understands aggregated discovery.
func acceptsAggregated(r *http.Request) bool {
	return slices.ContainsFunc(accepted(r), func(c clause) bool {
		return c.mediaType == "application/json" && c.parameters["as"] == "APIGroupDiscoveryList" && c.parameters["v"] == "v2" && c.parameters["g"] == "apidiscovery.k8s.io"
	})
}

// writeAggregated writes the group versions that are wanted as aggregated discovery.
func (s *Server) writeAggregated(w http.ResponseWriter, wanted func(group) bool) {
	list := discoveryv2.APIGroupDiscoveryList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"}, Items: []discoveryv2.APIGroupDiscovery{}}
	for _, g := range s.kinds.list() {
		if !wanted(g) {
			continue
		}
		v := discoveryv2.APIVersionDiscovery{Version: g.Version, Freshness: discoveryv2.DiscoveryFreshnessCurrent}
		for _, r := range g.resources {
			v.Resources = append(v.Resources, r.APIResourceDiscovery)
		}
		i := slices.IndexFunc(list.Items, func(have discoveryv2.APIGroupDiscovery) bool { return have.Name == g.Group })
		if i < 0 {
			list.Items = append(list.Items, discoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: g.Group}})
			i = len(list.Items) - 1
		}
		list.Items[i].Versions = append(list.Items[i].Versions, v)
	}
	writeAs(w, http.StatusOK, strings.ReplaceAll(aggregatedType, " ", ""), list)
}
