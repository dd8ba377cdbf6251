package apiserver

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// A counted request is what apiserver_request_total tells apart.
type counted struct {
	verb, group, version, resource, subresource, scope string
	isDry                                              bool
	code                                               int
}

// mostCounted is how many different requests are counted. A cluster has fewer kinds.
const mostCounted = 100_000

// counts are the numbers of requests. They are safe for concurrent use.
type counts struct {
	mu      sync.Mutex
	numbers map[counted]uint64
}

func (c *counts) add(r counted) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.numbers == nil {
		c.numbers = map[counted]uint64{}
	}
	if _, known := c.numbers[r]; known || len(c.numbers) < mostCounted {
		c.numbers[r]++
	}
}

// lines returns the samples, sorted.
func (c *counts) lines() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]string, 0, len(c.numbers))
	for r, n := range c.numbers {
		dry := ""
		if r.isDry {
			dry = "All"
		}
		all = append(all, fmt.Sprintf("apiserver_request_total{code=\"%d\",component=\"apiserver\",dry_run=%q,group=%q,resource=%q,scope=%q,subresource=%q,verb=%q,version=%q} %d",
			r.code, dry, r.group, r.resource, r.scope, r.subresource, r.verb, r.version, n))
	}
	slices.Sort(all)
	return all
}

// reportedVerbs are the verbs in metrics.
var reportedVerbs = map[string]string{
	"get": "GET", "list": "LIST", "watch": "WATCH", "create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE", "deletecollection": "DELETECOLLECTION",
}

// count counts a request for objects that was answered with a code. Paths of kinds that the server does
// not have are not counted: anybody could fill the memory with them.
func (s *Server) count(t target, of *resource, verb string, r *http.Request, code int) {
	c := counted{verb: cmp.Or(reportedVerbs[verb], "other"), group: of.version.Group, version: of.version.Version, resource: of.Resource, code: code,
		subresource: of.subresource(t.subresource), isDry: strings.Contains(r.URL.RawQuery, "dryRun=")}
	if verb == "patch" && strings.HasPrefix(r.Header.Get("Content-Type"), "application/apply-patch") {
		c.verb = "APPLY"
	}
	switch {
	case t.name != "" || verb == "create":
		c.scope = "resource"
	case t.namespace != "":
		c.scope = "namespace"
	default:
		c.scope = "cluster"
	}
	s.counts.add(c)
}

// subresource returns the name of a subresource that begins a path; "" for one that the resource does not
// have.
func (r *resource) subresource(path string) string {
	first, _, _ := strings.Cut(path, "/")
	for i := range r.Subresources {
		if r.Subresources[i].Subresource == first {
			return r.Subresources[i].Subresource // not a part of the path, which is kept
		}
	}
	return ""
}

const metricsType = "text/plain; version=0.0.4; charset=utf-8"

// serveOwnMetrics answers with the metrics of the server.
func serveOwnMetrics(s *Server, w http.ResponseWriter, _ *http.Request) {
	var text strings.Builder
	text.WriteString("# HELP apiserver_request_total [STABLE] Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, scope, component, and HTTP response code.\n" +
		"# TYPE apiserver_request_total counter\n")
	for _, line := range s.counts.lines() {
		text.WriteString(line + "\n")
	}
	text.WriteString("# HELP kubernetes_build_info [BETA] A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, build date, Go version, and compiler from which " +
		"Kubernetes was built, and platform on which it is running.\n# TYPE kubernetes_build_info gauge\n")
	fmt.Fprintf(&text, "kubernetes_build_info{build_date=%q,compiler=%q,git_commit=\"\",git_tree_state=%q,git_version=%q,go_version=\"\",major=%q,minor=%q,platform=%q} 1\n",
		build.BuildDate, build.Compiler, build.GitTreeState, build.GitVersion, build.Major, build.Minor, build.Platform)
	text.WriteString(validations)
	writeBytes(w, http.StatusOK, metricsType, []byte(text.String()))
}

// validations are the counters of how often the declared rules of Kubernetes and its functions differ.
// They stay 0: this server has one set of rules.
const validations = "# HELP apiserver_validation_declarative_validation_mismatch_total [BETA] " +
	"Number of times declarative validation results differed from handwritten validation results for core types.\n" +
	"# TYPE apiserver_validation_declarative_validation_mismatch_total counter\napiserver_validation_declarative_validation_mismatch_total 0\n" +
	"# HELP apiserver_validation_declarative_validation_panic_total [BETA] Number of times declarative validation has panicked during validation.\n" +
	"# TYPE apiserver_validation_declarative_validation_panic_total counter\napiserver_validation_declarative_validation_panic_total 0\n"

// serveIndicators answers with the checks of health as metrics. They all succeed.
func serveIndicators(_ *Server, w http.ResponseWriter, _ *http.Request) {
	var healthy, checked strings.Builder
	for _, name := range healthChecks {
		for _, path := range []string{"healthz", "livez", "readyz"} {
			if hasCheck(path, name) {
				fmt.Fprintf(&healthy, "kubernetes_healthcheck{name=%q,type=%q} 1\n", name, path)
				fmt.Fprintf(&checked, "kubernetes_healthchecks_total{name=%q,status=\"success\",type=%q} 1\n", name, path)
			}
		}
	}
	text := "# HELP kubernetes_healthcheck [STABLE] This metric records the result of a single healthcheck.\n# TYPE kubernetes_healthcheck gauge\n" + healthy.String() +
		"# HELP kubernetes_healthchecks_total [STABLE] This metric records the results of all healthcheck.\n# TYPE kubernetes_healthchecks_total counter\n" + checked.String()
	writeBytes(w, http.StatusOK, metricsType, []byte(text))
}
