package apiserver

import (
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	discoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
)

// kubeletPort is the port of the kubelet, which may be named in a proxied request.
const kubeletPort = "10250"

// nodeProxy is what discovery says of the proxy of Nodes: only reads are served.
var nodeProxy = discoveryv2.APISubresourceDiscovery{Subresource: "proxy", ResponseKind: &metav1.GroupVersionKind{Kind: "NodeProxyOptions"}, Verbs: []string{"get"}}

// isProxy reports whether a path leads to the kubelet of a Node.
func (t target) isProxy() bool {
	first, _, _ := strings.Cut(t.subresource, "/")
	return t.resource.Group == "" && t.resource.Resource == "nodes" && first == "proxy"
}

// proxy answers a request for the kubelet of a Node. Only reads are served.
func (c *call) proxy() error {
	if c.r.Method != http.MethodGet && c.r.Method != http.MethodHead {
		return badRequest("nodes/proxy: a simulated kubelet answers only GET, not %s", c.r.Method)
	}
	scheme, name, port, ok := utilnet.SplitSchemeNamePort(c.name)
	if !ok || scheme == "http" || port != "" && port != kubeletPort {
		return badRequest("nodes/proxy: %q is not a kubelet: want NAME, or https:NAME:%s", c.name, kubeletPort)
	}
	used, err := c.server.meter.Node(c.ctx, name)
	if err != nil {
		return err
	}
	for _, p := range used.Pods {
		if p.Err != nil {
			c.leaveOut(p.Err)
		}
	}
	runtime := containers.Of(c.cluster)
	at := path.Clean(strings.TrimPrefix(c.subresource, "proxy") + "/")
	switch measured := at == "/metrics/resource" || at == "/stats/summary"; {
	case measured && !runtime.MeasuresUsage():
		return badRequest("nodes/proxy%s is not served by an in-memory cluster: set Usage of containers.Options", at)
	case at == "/metrics/resource":
		serveMetrics(c.w, c.r, used)
		return nil
	case at == "/stats/summary" && !isTrue(c.query, "only_cpu_and_memory"):
		return badRequest("nodes/proxy%s: file systems and networks are not simulated: add the parameter only_cpu_and_memory=true", at)
	case at == "/stats/summary":
		writeJSON(c.w, http.StatusOK, summaryOf(used))
		return nil
	}
	handler := runtime.Kubelet(*used)
	if handler == nil {
		return badRequest("nodes/proxy%s is not served by an in-memory cluster: set Kubelet of containers.Options", at)
	}
	handler.ServeHTTP(c.w, c.toKubelet(at))
	return nil
}

// toKubelet returns the request as a kubelet gets it: without the credentials of the client.
func (c *call) toKubelet(at string) *http.Request {
	r := c.r.Clone(c.ctx)
	r.URL = &url.URL{Path: at, RawQuery: c.r.URL.RawQuery}
	r.RequestURI = r.URL.RequestURI()
	r.Body, r.ContentLength = http.NoBody, 0
	for name := range r.Header {
		if name == "Authorization" || strings.HasPrefix(name, "Impersonate-") {
			delete(r.Header, name)
		}
	}
	return r
}

// serveMetrics answers with the resource metrics of a kubelet, in the format that a client accepts.
func serveMetrics(w http.ResponseWriter, r *http.Request, used *containers.NodeUsage) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(resourceMetrics{used})
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, r)
}

// resourceMetrics are what a kubelet measures of a Node.
type resourceMetrics struct{ used *containers.NodeUsage }

var (
	ofContainer = []string{"container", "pod", "namespace"}
	ofPod       = []string{"pod", "namespace"}

	nodeCPU         = describe("node_cpu_usage_seconds_total", "Cumulative cpu time consumed by the node in core-seconds", nil)
	nodeMemory      = describe("node_memory_working_set_bytes", "Current working set of the node in bytes", nil)
	containerStart  = describe("container_start_time_seconds", "Start time of the container since unix epoch in seconds", ofContainer)
	containerCPU    = describe("container_cpu_usage_seconds_total", "Cumulative cpu time consumed by the container in core-seconds", ofContainer)
	containerMemory = describe("container_memory_working_set_bytes", "Current working set of the container in bytes", ofContainer)
	podCPU          = describe("pod_cpu_usage_seconds_total", "Cumulative cpu time consumed by the pod in core-seconds", ofPod)
	podMemory       = describe("pod_memory_working_set_bytes", "Current working set of the pod in bytes", ofPod)
	scrapeError     = describe("resource_scrape_error", "1 if there was an error while getting container metrics, 0 otherwise", nil)
)

func describe(name, help string, labels []string) *prometheus.Desc {
	return prometheus.NewDesc(name, "[STABLE] "+help, labels, nil)
}

// Describe sends nothing: the registry does not check the metrics of a single answer beforehand.
func (m resourceMetrics) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics in any order; the registry sorts them.
func (m resourceMetrics) Collect(out chan<- prometheus.Metric) {
	send := func(u containers.Usage, cpu, memory *prometheus.Desc, labels ...string) {
		out <- prometheus.NewMetricWithTimestamp(u.Time, prometheus.MustNewConstMetric(cpu, prometheus.CounterValue, u.CPUSeconds, labels...))
		out <- prometheus.NewMetricWithTimestamp(u.Time, prometheus.MustNewConstMetric(memory, prometheus.GaugeValue, u.Memory.AsApproximateFloat64(), labels...))
	}
	send(m.used.Usage, nodeCPU, nodeMemory)
	failed := 0.0
	for _, p := range m.used.Pods {
		pod, namespace := p.Pod.GetName(), p.Pod.GetNamespace()
		for _, c := range p.Containers {
			send(c.Usage, containerCPU, containerMemory, c.Name, pod, namespace)
			out <- prometheus.MustNewConstMetric(containerStart, prometheus.GaugeValue, float64(c.Started.UnixNano())/float64(time.Second), c.Name, pod, namespace)
		}
		if len(p.Containers) > 0 {
			send(p.Usage, podCPU, podMemory, pod, namespace)
		}
		if p.Err != nil {
			failed = 1
		}
	}
	out <- prometheus.MustNewConstMetric(scrapeError, prometheus.GaugeValue, failed)
}

// summaryOf returns what a kubelet knows of CPU and memory, in the form of its Summary.
func summaryOf(used *containers.NodeUsage) map[string]any {
	node := statisticsOf(used.Usage)
	node["nodeName"], node["startTime"] = used.Node.GetName(), timeText(used.Node.GetCreationTimestamp().Time)
	pods := []any{}
	for _, p := range used.Pods {
		if len(p.Containers) == 0 {
			continue
		}
		var all []any
		for _, c := range p.Containers {
			of := statisticsOf(c.Usage)
			of["name"], of["startTime"] = c.Name, timeText(c.Started)
			all = append(all, of)
		}
		pod := statisticsOf(p.Usage)
		pod["podRef"] = map[string]any{"name": p.Pod.GetName(), "namespace": p.Pod.GetNamespace(), "uid": p.Pod.GetUID()}
		pod["startTime"], pod["containers"] = timeText(p.Pod.GetCreationTimestamp().Time), all
		pods = append(pods, pod)
	}
	return map[string]any{"node": node, "pods": pods}
}

func statisticsOf(u containers.Usage) map[string]any {
	at := timeText(u.Time)
	return map[string]any{
		"cpu":    map[string]any{"time": at, "usageNanoCores": uint64(u.CPU.ScaledValue(-9)), "usageCoreNanoSeconds": uint64(min(u.CPUSeconds*1e9, 1<<63))},
		"memory": map[string]any{"time": at, "usageBytes": uint64(u.Memory.Value()), "workingSetBytes": uint64(u.Memory.Value())},
	}
}

func timeText(at time.Time) string { return at.UTC().Format(time.RFC3339) }
