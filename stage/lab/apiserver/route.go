package apiserver

import (
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// An endpoint answers the requests for a path.
type endpoint interface {
	serve(*Server, http.ResponseWriter, *http.Request)
}

// endpointFunc is an endpoint without parameters.
type endpointFunc func(*Server, http.ResponseWriter, *http.Request)

func (f endpointFunc) serve(s *Server, w http.ResponseWriter, r *http.Request) { f(s, w, r) }

// fixed are the paths without parameters.
var fixed = map[string]endpointFunc{
	"": serveIndex, "index.html": serveIndex,
	"version": serveVersion, "metrics": serveOwnMetrics,
	"healthz": serveHealth, "livez": serveHealth, "readyz": serveHealth,
	"api":  serveCoreGroup,
	"apis": serveGroups,
}

// route returns the endpoint of a path.
func route(path string) endpoint {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) == 1 {
		if f, found := fixed[parts[0]]; found {
			return f
		}
		return endpointFunc(serveNothing)
	}
	switch {
	case path == "/metrics/slis":
		return endpointFunc(serveIndicators)
	case path == "/.well-known/openid-configuration":
		return endpointFunc(serveIssuer)
	case path == keysPath:
		return endpointFunc(serveKeys)
	case parts[0] == "healthz" || parts[0] == "livez" || parts[0] == "readyz":
		return endpointFunc(serveHealth)
	case parts[0] == "openapi":
		return specOf(parts[1:])
	case parts[0] == "api" && parts[1] == "v1":
		return inVersion(schema.GroupVersion{Version: "v1"}, parts[2:])
	case parts[0] == "apis" && len(parts) == 2:
		return groupEndpoint(parts[1])
	case parts[0] == "apis" && len(parts) > 2:
		return inVersion(schema.GroupVersion{Group: parts[1], Version: parts[2]}, parts[3:])
	}
	return endpointFunc(serveNothing)
}

// specOf is the endpoint of the rest of a path after /openapi.
func specOf(rest []string) endpoint {
	switch {
	case rest[0] == "v2" && len(rest) == 1:
		return endpointFunc(serveSpecV2)
	case rest[0] != "v3":
	case len(rest) == 1:
		return endpointFunc(serveSpecs)
	case len(rest) == 3 && rest[1] == "api":
		return specEndpoint{Version: rest[2]}
	case len(rest) == 4 && rest[1] == "apis":
		return specEndpoint{Group: rest[2], Version: rest[3]}
	}
	return endpointFunc(serveNothing)
}

// inVersion is the endpoint of the rest of a path in a group version.
func inVersion(gv schema.GroupVersion, rest []string) endpoint {
	if len(rest) == 0 {
		return versionEndpoint(gv)
	}
	t := target{resource: gv.WithResource(rest[0])}
	if rest[0] == "namespaces" && len(rest) > 2 && !namespaceSubresources[rest[2]] {
		t.namespace, rest = rest[1], rest[2:]
		t.resource = gv.WithResource(rest[0])
	}
	if len(rest) > 1 {
		t.name = rest[1]
	}
	if len(rest) > 2 {
		t.subresource = strings.Join(rest[2:], "/")
	}
	return t
}

// namespaceSubresources are those of Namespaces; other words there are resources in a namespace.
var namespaceSubresources = map[string]bool{"status": true, "finalize": true}

// A target is what a path with objects names: a collection of objects, an object or a subresource.
type target struct {
	resource    schema.GroupVersionResource
	namespace   string
	name        string // "": the collection
	subresource string
}

// verbOf returns the verb of a request in the words of audit logs and RBAC.
func verbOf(r *http.Request) string {
	t, isTarget := route(r.URL.Path).(target)
	if !isTarget {
		return ""
	}
	return t.verb(r)
}

func (t target) verb(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		switch {
		case t.name != "":
			return "get"
		case isTrue(r.URL.Query(), "watch"):
			return "watch"
		}
		return "list"
	case http.MethodDelete:
		if t.name == "" {
			return "deletecollection"
		}
		return "delete"
	}
	return map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch"}[r.Method]
}

// isTrue reports whether a parameter of a query is set and not false.
func isTrue(query map[string][]string, name string) bool {
	values, given := query[name]
	return given && (len(values) == 0 || values[0] != "false" && values[0] != "0")
}
