package apiserver

import (
	"context"
	"net/http"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/apiservices"
	serviceControllers "github.com/stagecraft-go/stagecraft/stage/lab/controllers/services"
)

var endpointSlices = schema.GroupVersionKind{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}

// prepareAPIServices creates the APIServices of the versions that the server serves.
func (s *Server) prepareAPIServices(ctx context.Context) error {
	for _, g := range s.kinds.list() {
		managed, p := "onstart", apiservices.Priorities[g.GroupVersion]
		if p.Group == 0 && isRecorded(g.Group) || g.Group == apiservices.Kind.Group || isMeasured(g) {
			continue
		}
		if p.Group == 0 {
			managed, p = "true", apiservices.Priority{Group: 1000, Version: 100}
		}
		u := apiservices.New(g.GroupVersion, p, managed, s.cluster.Now())
		u.SetManagedFields(nil)
		if err := ensure(ctx, s.cluster, u, apiservices.Manager); err != nil {
			return err
		}
	}
	return s.checkAPIServices(ctx)
}

// isMeasured reports whether a version is that of usages, which another server has in a Kubernetes.
func isMeasured(g group) bool {
	for _, r := range g.resources {
		if r.measured {
			return true
		}
	}
	return false
}

func (s *Server) checkAPIServices(ctx context.Context) error {
	return serviceControllers.CheckAPIServices(ctx, s.cluster.Shared(), s.cluster.Now())
}

// decidesAPIServices reports whether an object of a kind decides whether APIServices are available.
func decidesAPIServices(kind schema.GroupVersionKind) bool {
	return kind == apiservices.Kind || kind == services || kind == endpointSlices
}

// serveAggregated answers a request for a version whose APIService names a Service: no request reaches
// it. It returns false for other versions.
func (s *Server) serveAggregated(gv schema.GroupVersion, w http.ResponseWriter, r *http.Request) bool {
	u, err := s.cluster.Shared().Get(r.Context(), apiservices.Kind, apiservices.Name(gv))
	if err != nil {
		return false
	}
	if service, _, _ := unstructured.NestedMap(u.Object, "spec", "service"); service == nil {
		return false
	}
	if c := (printable{Unstructured: u}).condition("Available"); text(c, "status") != "True" {
		writeText(w, http.StatusServiceUnavailable, "service unavailable\n")
		return true
	}
	writeText(w, http.StatusServiceUnavailable, "error trying to reach service: an in-memory cluster passes no request on to another API server\n")
	return true
}
