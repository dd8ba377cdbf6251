package apiserver_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
	"github.com/stagecraft-go/stagecraft/stage/lab/containers/kwok"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

// nodeOf returns the Node on which the Pod p runs.
func nodeOf(lab *labtest.Lab) string {
	node, _ := lab.Get("v1", "Pod", "p").Object["spec"].(map[string]any)["nodeName"].(string)
	return node
}

// kubelet returns a function that reads a path of the kubelet of that Node.
func kubelet(t *testing.T, lab *labtest.Lab, config *rest.Config) func(path string) (string, error) {
	node := nodeOf(lab)
	return func(path string) (string, error) {
		text, err := kubernetes.NewForConfigOrDie(config).CoreV1().RESTClient().Get().RequestURI("/api/v1/nodes/" + node + "/proxy" + path).DoRaw(t.Context())
		return string(text), withText(err, text)
	}
}

// withText adds the body of an answer to its error: a client of raw text does not read it.
func withText(err error, text []byte) error {
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.ReplaceAll(string(text), `\"`, `"`))
	}
	return nil
}

// TestResourceMetrics: /metrics/resource of a kubelet through the proxy, byte for byte, and how its
// counters grow.
func TestResourceMetrics(t *testing.T) {
	cpu := "250m"
	lab := labtest.New(t, labtest.Options{Containers: containers.Options{Usage: func(containers.Container, time.Time) (containers.Usage, error) {
		return containers.Usage{CPU: resource.MustParse(cpu), Memory: resource.MustParse("64Mi")}, nil
	}}})
	config := apiserver.Start(t, lab.Cluster(), apiserver.Options{})
	lab.Apply(podNamed("p"))
	lab.WaitCurrent()
	lab.Advance(100 * time.Second)
	read := kubelet(t, lab, config)
	text, err := read("/metrics/resource")
	require.NoError(t, err)
	require.Equal(t, `# HELP container_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the container in core-seconds
# TYPE container_cpu_usage_seconds_total counter
container_cpu_usage_seconds_total{container="c",namespace="default",pod="p"} 25 1136214345000
# HELP container_memory_working_set_bytes [STABLE] Current working set of the container in bytes
# TYPE container_memory_working_set_bytes gauge
container_memory_working_set_bytes{container="c",namespace="default",pod="p"} 6.7108864e+07 1136214345000
# HELP container_start_time_seconds [STABLE] Start time of the container since unix epoch in seconds
# TYPE container_start_time_seconds gauge
container_start_time_seconds{container="c",namespace="default",pod="p"} 1.136214245e+09
# HELP node_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the node in core-seconds
# TYPE node_cpu_usage_seconds_total counter
node_cpu_usage_seconds_total 25 1136214345000
# HELP node_memory_working_set_bytes [STABLE] Current working set of the node in bytes
# TYPE node_memory_working_set_bytes gauge
node_memory_working_set_bytes 6.7108864e+07 1136214345000
# HELP pod_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the pod in core-seconds
# TYPE pod_cpu_usage_seconds_total counter
pod_cpu_usage_seconds_total{namespace="default",pod="p"} 25 1136214345000
# HELP pod_memory_working_set_bytes [STABLE] Current working set of the pod in bytes
# TYPE pod_memory_working_set_bytes gauge
pod_memory_working_set_bytes{namespace="default",pod="p"} 6.7108864e+07 1136214345000
# HELP resource_scrape_error [STABLE] 1 if there was an error while getting container metrics, 0 otherwise
# TYPE resource_scrape_error gauge
resource_scrape_error 0
`, text)
	cpu = "1"
	lab.Advance(10 * time.Second)
	text, err = read("/metrics/resource")
	require.NoError(t, err)
	require.Equal(t, 35.0, sampleOf(t, text, "container_cpu_usage_seconds_total").GetCounter().GetValue())
	require.Equal(t, 35.0, sampleOf(t, text, "node_cpu_usage_seconds_total").GetCounter().GetValue())
	require.EqualValues(t, 1136214355000, sampleOf(t, text, "node_cpu_usage_seconds_total").GetTimestampMs())
	lab.Delete(podNamed("p"))
	lab.Advance(time.Minute)
	text, err = read("/metrics/resource")
	require.NoError(t, err)
	require.Equal(t, 35.0, sampleOf(t, text, "node_cpu_usage_seconds_total").GetCounter().GetValue(), "it stays what the Node has used")
	require.NotContains(t, text, "container_")
}

// sampleOf parses an exposition as Prometheus does, and returns the only sample of a metric.
func sampleOf(t *testing.T, text, name string) *dto.Metric {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	require.NoError(t, err)
	require.Len(t, families[name].GetMetric(), 1, name)
	return families[name].GetMetric()[0]
}

// TestSummaryOfANode has what a kubelet says of CPU and memory.
func TestSummaryOfANode(t *testing.T) {
	lab := labtest.New(t, labtest.Options{Containers: containers.Options{Usage: func(containers.Container, time.Time) (containers.Usage, error) {
		return containers.Usage{CPU: resource.MustParse("250m"), Memory: resource.MustParse("64Mi"), CPUSeconds: 1.5}, nil
	}}})
	config := apiserver.Start(t, lab.Cluster(), apiserver.Options{})
	lab.Apply(podNamed("p"))
	lab.WaitCurrent()
	text, err := kubelet(t, lab, config)("/stats/summary?only_cpu_and_memory=true")
	require.NoError(t, err)
	require.Contains(t, text, `"containers":[{"cpu":{"time":"2006-01-02T15:04:05Z","usageCoreNanoSeconds":1500000000,"usageNanoCores":250000000},`+
		`"memory":{"time":"2006-01-02T15:04:05Z","usageBytes":67108864,"workingSetBytes":67108864},"name":"c","startTime":"2006-01-02T15:04:05Z"}]`)
	_, err = kubelet(t, lab, config)("/stats/summary")
	require.ErrorContains(t, err, "file systems and networks are not simulated: add the parameter only_cpu_and_memory=true")
}

// TestKubeletsOfPrograms: a program answers other paths. It gets no credentials, and a path that leads
// nowhere else.
func TestKubeletsOfPrograms(t *testing.T) {
	lab := labtest.New(t, labtest.Options{Containers: containers.Options{Kubelet: func(u containers.NodeUsage) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			fmt.Fprintln(w, u.Node.GetName() != "", len(u.Pods), u.Started, r.URL, r.RequestURI, string(body), err, r.Header.Get("Authorization"), r.Header.Get("Impersonate-User"), r.Header.Get("X-Kept"))
		})
	}}})
	config := apiserver.Start(t, lab.Cluster(), apiserver.Options{})
	lab.Apply(podNamed("p"))
	lab.WaitCurrent()
	node := nodeOf(lab)
	ask := func(path string) (string, error) {
		r := kubernetes.NewForConfigOrDie(config).CoreV1().RESTClient().Get().RequestURI(path)
		text, err := r.SetHeader("Authorization", "Bearer x").SetHeader("Impersonate-User", "nobody").SetHeader("X-Kept", "kept").SetHeader("Accept", "text/plain").DoRaw(t.Context())
		return string(text), withText(err, text)
	}
	for _, name := range []string{node, "https:" + node + ":10250", node + ":10250"} {
		text, err := ask("/api/v1/nodes/" + name + "/proxy/b?c=d")
		require.NoError(t, err)
		require.Equal(t, "true 1 1 /b?c=d /b?c=d  <nil>   kept\n", text)
	}
	transport, err := rest.TransportFor(config)
	require.NoError(t, err)
	answer, err := transport.RoundTrip(httptest.NewRequest(http.MethodGet, config.Host+"/api/v1/nodes/"+node+"/proxy/a/../../../b", nil))
	require.NoError(t, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Contains(t, string(text), " /b /b ")
	for path, want := range map[string]string{
		node + ":9100/proxy/metrics":     `"` + node + `:9100" is not a kubelet: want NAME, or https:NAME:10250`,
		"http:" + node + ":10250/proxy/": "is not a kubelet",
		"none/proxy/metrics":             `nodes "none" not found`,
		node + "/proxy/metrics/resource": "nodes/proxy/metrics/resource is not served by an in-memory cluster: set Usage of containers.Options",
	} {
		_, err := ask("/api/v1/nodes/" + path)
		require.ErrorContains(t, err, want, path)
	}
	err = kubernetes.NewForConfigOrDie(config).CoreV1().RESTClient().Post().RequestURI("/api/v1/nodes/" + node + "/proxy/run").Do(context.Background()).Error()
	require.ErrorContains(t, err, "a simulated kubelet answers only GET, not POST")
}

// TestKubeletsNeedTheRight: the right is get of nodes/proxy; that to nodes/metrics, which a kubelet itself
// asks for, is not enough for kube-apiserver's proxy.
func TestKubeletsNeedTheRight(t *testing.T) {
	lab := labtest.New(t, labtest.Options{Containers: containers.Options{Usage: containers.Annotated}})
	config := apiserver.Start(t, lab.Cluster(), apiserver.Options{RBAC: true})
	lab.Apply(podNamed("p"))
	lab.WaitCurrent()
	for _, name := range []string{"metrics", "proxy"} {
		lab.Apply(fmt.Sprintf(`
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: %[1]s}, rules: [
  {apiGroups: [""], resources: [nodes/%[1]s], verbs: [get]}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[1]s}]`, name))
	}
	as := rest.CopyConfig(config)
	as.Impersonate.UserName = "metrics"
	_, err := kubelet(t, lab, as)("/metrics/resource")
	require.ErrorContains(t, err, `User "metrics" cannot get resource "nodes/proxy" in API group "" at the cluster scope`)
	as.Impersonate.UserName = "proxy"
	text, err := kubelet(t, lab, as)("/metrics/resource")
	require.NoError(t, err)
	require.Contains(t, text, "\nnode_cpu_usage_seconds_total 0 ")
	require.NotContains(t, text, "container_", "nothing says what the Pod uses")
}

// TestMetricsOfKwok: kwok's files say what containers use and which metrics their kubelet has. A client
// reads them through the proxy, at the path of the file.
func TestMetricsOfKwok(t *testing.T) {
	rules, err := kwok.Parse("kwok.yaml", []byte(`
kind: ClusterResourceUsage
apiVersion: kwok.x-k8s.io/v1alpha1
metadata: {name: by-request}
spec: {usages: [{usage: {cpu: {expression: 'container.resources.requests["cpu"] / 2'}, memory: {value: 1Gi}}}]}
---
kind: Metric
apiVersion: kwok.x-k8s.io/v1alpha1
metadata: {name: cpu}
spec:
  path: /metrics/nodes/{nodeName}/metrics/cpu
  metrics:
  - {name: cpu_seconds_total, kind: counter, dimension: container, labels: [{name: container, value: container.name}], value: 'pod.CumulativeUsage("cpu", container.name)'}
`))
	require.NoError(t, err)
	lab := labtest.New(t, labtest.Options{Containers: rules.Options(kwok.Host{})})
	config := apiserver.Start(t, lab.Cluster(), apiserver.Options{})
	pod := podNamed("p")
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("500m")}
	lab.Apply(pod)
	lab.WaitCurrent()
	lab.Advance(time.Minute)
	read := kubelet(t, lab, config)
	text, err := read("/metrics/nodes/" + nodeOf(lab) + "/metrics/cpu")
	require.NoError(t, err)
	require.Equal(t, "# HELP cpu_seconds_total \n# TYPE cpu_seconds_total counter\ncpu_seconds_total{container=\"c\"} 15\n", text)
	text, err = read("/metrics/resource")
	require.NoError(t, err)
	require.Equal(t, 15.0, sampleOf(t, text, "pod_cpu_usage_seconds_total").GetCounter().GetValue())
	_, err = read("/metrics/nodes/other/metrics/cpu")
	require.ErrorContains(t, err, "no Metric has the path /metrics/nodes/other/metrics/cpu for Node "+nodeOf(lab))
}

// TestAPodWithAUsageErrorIsLeftOut: every answer has the other Pods. The error names the Pod, the
// container, the resource and the place in the file.
func TestAPodWithAUsageErrorIsLeftOut(t *testing.T) {
	rules, err := kwok.Parse("kwok.yaml", []byte(`
kind: ClusterResourceUsage
apiVersion: kwok.x-k8s.io/v1alpha1
metadata: {name: by-annotation}
spec: {usages: [{usage: {memory: {value: 1Gi}, cpu: {expression: 'Quantity(pod.metadata.annotations["x"])'}}}]}
---
kind: Metric
apiVersion: kwok.x-k8s.io/v1alpha1
metadata: {name: m}
spec: {path: "/metrics/nodes/{nodeName}", metrics: [
  {name: one, kind: gauge, value: "1"}, {name: cores, kind: gauge, dimension: pod, value: 'pod.Usage("cpu")', labels: [{name: pod, value: pod.metadata.name}]}]}
`))
	require.NoError(t, err)
	lab := labtest.New(t, labtest.Options{Nodes: 1, Containers: rules.Options(kwok.Host{})})
	config := apiserver.Start(t, lab.Cluster(), apiserver.Options{})
	warnings := &strings.Builder{}
	config.WarningHandler = rest.NewWarningWriter(warnings, rest.WarningWriterOptions{})
	good := podNamed("good")
	good.Annotations = map[string]string{"x": "250m"}
	lab.Apply(good, podNamed("bad"))
	lab.WaitCurrent()
	const want = `the usage of container "c" of Pod default/bad: kwok.yaml:5:66: spec.usages[0].usage.cpu.expression: no such key: x`
	client := kubernetes.NewForConfigOrDie(config)
	for path, has := range map[string]string{
		"/apis/metrics.k8s.io/v1beta1/pods":                                 `"usage":{"cpu":"250m","memory":"1Gi"}`,
		"/apis/metrics.k8s.io/v1beta1/nodes":                                `"usage":{"cpu":"250m","memory":"1Gi"}`,
		"/apis/metrics.k8s.io/v1beta1/nodes/node-1":                         `"usage":{"cpu":"250m","memory":"1Gi"}`,
		"/api/v1/nodes/node-1/proxy/metrics/resource":                       "resource_scrape_error 1\n",
		"/api/v1/nodes/node-1/proxy/stats/summary?only_cpu_and_memory=true": `"podRef":{"name":"good"`,
		"/api/v1/nodes/node-1/proxy/metrics/nodes/node-1":                   "\none 1\n",
	} {
		warnings.Reset()
		text, err := client.CoreV1().RESTClient().Get().RequestURI(path).Do(t.Context()).Raw() // DoRaw ignores warnings
		require.NoError(t, err, path)
		require.Contains(t, string(text), has, path)
		require.Contains(t, warnings.String(), "a Pod is left out: "+want, path)
		if !strings.Contains(path, "metrics/nodes/node-1") {
			require.NotContains(t, string(text), "bad", path)
		}
	}
	text, err := client.CoreV1().RESTClient().Get().RequestURI("/api/v1/nodes/node-1/proxy/metrics/nodes/node-1").DoRaw(t.Context())
	require.NoError(t, err)
	require.Contains(t, string(text), `cores{pod="good"} 0.25`)
	require.Contains(t, string(text), "Pod default/bad: kwok.yaml:5:66")
	text, err = client.CoreV1().RESTClient().Get().AbsPath("/apis/metrics.k8s.io/v1beta1/namespaces/default/pods/bad").DoRaw(t.Context())
	require.ErrorContains(t, withText(err, text), want)
}
