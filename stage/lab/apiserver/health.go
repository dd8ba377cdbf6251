package apiserver

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

// healthChecks are the names of the checks of kube-apiserver 1.36, in its order. They all succeed: a
// server that answers has everything that they ask for.
var healthChecks = strings.Fields(`ping log loopback-serving-certificate etcd etcd-readiness informer-sync
	poststarthook/start-apiserver-admission-initializer poststarthook/generic-apiserver-start-informers
	poststarthook/priority-and-fairness-config-consumer poststarthook/priority-and-fairness-filter poststarthook/storage-object-count-tracker-hook
	poststarthook/start-apiextensions-informers poststarthook/start-apiextensions-controllers poststarthook/crd-informer-synced
	poststarthook/start-system-namespaces-controller poststarthook/peer-endpoint-reconciler-controller
	poststarthook/start-cluster-authentication-info-controller poststarthook/start-kube-apiserver-identity-lease-controller
	poststarthook/start-kube-apiserver-identity-lease-garbage-collector poststarthook/storage-readiness poststarthook/start-legacy-token-tracking-controller
	poststarthook/start-service-ip-repair-controllers poststarthook/rbac/bootstrap-roles poststarthook/scheduling/bootstrap-system-priority-classes
	poststarthook/priority-and-fairness-config-producer poststarthook/bootstrap-controller poststarthook/start-kubernetes-service-cidr-controller
	poststarthook/start-kube-aggregator-informers poststarthook/apiservice-status-local-available-controller
	poststarthook/apiservice-status-remote-available-controller poststarthook/apiservice-registration-controller poststarthook/apiservice-discovery-controller
	poststarthook/kube-apiserver-autoregistration autoregister-completion poststarthook/apiservice-openapi-controller
	poststarthook/apiservice-openapiv3-controller shutdown`)

// hasCheck reports whether a path of health has a check: some are about beginning and ending, which
// only /readyz knows, and one that a server is alive.
func hasCheck(path, check string) bool {
	switch check {
	case "etcd-readiness", "informer-sync", "shutdown":
		return path == "readyz"
	case "loopback-serving-certificate":
		return path != "readyz"
	}
	return slices.Contains(healthChecks, check)
}

// serveHealth answers the checks of health, together or one of them.
func serveHealth(s *Server, w http.ResponseWriter, r *http.Request) {
	path, check, isOne := strings.Cut(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case isOne && !hasCheck(path, check):
		serveNothing(s, w, r)
		return
	case isOne || !r.URL.Query().Has("verbose"):
		writeText(w, http.StatusOK, "ok")
		return
	}
	var text strings.Builder
	excluded := sets.New(r.URL.Query()["exclude"]...)
	for _, name := range healthChecks {
		switch {
		case !hasCheck(path, name):
		case excluded.Has(name):
			excluded.Delete(name)
			fmt.Fprintf(&text, "[+]%s excluded: ok\n", name)
		default:
			fmt.Fprintf(&text, "[+]%s ok\n", name)
		}
	}
	if unknown := sets.List(excluded); len(unknown) > 0 {
		for i, name := range unknown {
			unknown[i] = fmt.Sprintf("%q", name)
		}
		fmt.Fprintf(&text, "warn: some health checks cannot be excluded: no matches for %s\n", strings.Join(unknown, ","))
	}
	fmt.Fprintf(&text, "%s check passed\n", path)
	writeText(w, http.StatusOK, text.String())
}
