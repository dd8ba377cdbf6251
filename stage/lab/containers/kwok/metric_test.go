package kwok_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
	"github.com/stagecraft-go/stagecraft/stage/lab/containers/kwok"
)

var now = time.Date(2026, 1, 1, 0, 10, 0, 0, time.UTC)

// measured is a Node of 10 minutes, with a Pod of 5 minutes that has used a core for 4 of them.
func measured(t *testing.T) containers.NodeUsage {
	t.Helper()
	object := func(text string, age time.Duration) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(text), &o.Object))
		o.SetCreationTimestamp(metav1.NewTime(now.Add(-age)))
		o.SetUID(types.UID(o.GetName()))
		return o
	}
	pod := object(`{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default, labels: {app: db}}, spec: {containers: [
  {name: a, resources: {requests: {cpu: 250m}, limits: {cpu: "2"}}}, {name: b}]},
  status: {phase: Running, containerStatuses: [{name: a, ready: true, restartCount: 3}]}}`, 5*time.Minute)
	used := containers.Usage{CPU: resource.MustParse("1"), Memory: resource.MustParse("1Ki"), CPUSeconds: 240, Time: now}
	return containers.NodeUsage{
		Node: object(`{apiVersion: v1, kind: Node, metadata: {name: "n"}, status: {allocatable: {memory: 4Ki}}}`, 10*time.Minute), Usage: used, Started: 5,
		Pods: []containers.PodUsage{{Pod: pod, Usage: used, Containers: []containers.ContainerUsage{{Container: containers.Container{Pod: pod, Name: "a"}, Usage: used}}}},
	}
}

// scrape returns the answer of the kubelet of a Node at a path.
func scrape(t *testing.T, text string, used containers.NodeUsage, path string) string {
	t.Helper()
	w := httptest.NewRecorder()
	parsed(t, text).Options(kwok.Host{}).Kubelet(used).ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w.Body.String()
}

// values returns the samples of an exposition without their names.
func values(text string) (all []string) {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			all = append(all, line[strings.LastIndexAny(line, " ")+1:len(line)-1])
		}
	}
	return all
}

// metric is a file with one metric.
func metric(dimension, expression string) string {
	return "{kind: Metric, apiVersion: kwok.x-k8s.io/v1alpha1, metadata: {name: m}, spec: {path: '/metrics/nodes/{nodeName}', metrics: [\n" +
		"  {name: x, help: h, kind: gauge, dimension: " + dimension + ", value: '" + expression + "'}]}}"
}

// TestMetricExpressions: what expressions of metrics and usages say, with kwok's functions.
func TestMetricExpressions(t *testing.T) {
	for expression, want := range map[string]string{
		`container: pod.CumulativeUsage("cpu", container.name)`:                         "240 0",
		`container: pod.Usage("memory", container.name)`:                                "1024 0",
		`container: container.resources.requests["cpu"]`:                                "0.25 0",
		`container: "cpu" in container.resources.limits ? 1 : 0`:                        "1 0",
		`pod: pod.Usage("cpu") * 2.0`:                                                   "2",
		`pod: pod.CumulativeUsage("cpu")`:                                               "240",
		`pod: pod.SinceSecond()`:                                                        "300",
		`pod: SinceSecond(pod)`:                                                         "300",
		`pod: pod.status.phase == "Running"`:                                            "1",
		`pod: pod.metadata.labels["app"] == "db" && !("x" in pod.metadata.annotations)`: "1",
		`pod: Now().UnixSecond() - UnixSecond(pod.metadata.creationTimestamp)`:          "300",
		`pod: pod.spec.containers.size()`:                                               "2",
		`pod: has(pod.spec.nodeName)`:                                                   "0",
		`node: StartedContainersTotal(node.metadata.name)`:                              "5",
		`node: node.startedContainersTotal()`:                                           "5",
		`node: node.SinceSecond()`:                                                      "600",
		`node: Quantity(node.status.allocatable["memory"]) - Quantity("1Ki")`:           "3072",
		`node: Quantity("1m") * 3 + Quantity("1")`:                                      "1.003",
		`node: Quantity("2") / 4 > Quantity("400m") ? -Quantity("-1") : Quantity("0")`:  "1",
		`node: duration("1s")`:                                                          "1e+09",
	} {
		dimension, value, _ := strings.Cut(expression, ": ")
		text := scrape(t, metric(dimension, value), measured(t), "/metrics/nodes/n")
		// two containers would have the same labels: each is its own file
		if dimension == "container" {
			file := strings.Replace(metric(dimension, value), "kind: gauge,", "kind: gauge, labels: [{name: c, value: container.name}],", 1)
			text = scrape(t, file, measured(t), "/metrics/nodes/n")
		}
		require.Equal(t, want, strings.Join(values(text), " "), "%s\n%s", expression, text)
	}
}

// TestMetricsAreServed: all kinds of metrics, labels, paths, and an expression that fails.
func TestMetricsAreServed(t *testing.T) {
	const file = `
kind: Metric
apiVersion: kwok.x-k8s.io/v1alpha1
metadata: {name: "n"}
spec:
  path: /metrics/nodes/n
  metrics:
  - {name: wait_seconds, kind: histogram, buckets: [{le: 1, value: '2', hidden: true}, {le: 10, value: '4'}, {le: 5, value: '3'}]}
  - {name: k8s.node.io, kind: counter, labels: [{name: direction, value: '"receive"'}], value: '1'}
  - {name: k8s.node.io, kind: counter, labels: [{name: direction, value: '"transmit"'}], value: '2'}
  - {name: broken, dimension: pod, kind: gauge, value: 'double(pod.metadata.labels["none"])'}
`
	require.Equal(t, `# HELP k8s_node_io `+`
# TYPE k8s_node_io counter
k8s_node_io{direction="receive"} 1
k8s_node_io{direction="transmit"} 2
# HELP stagecraft_metric_faults How many values of a metric are missing because an expression failed.
# TYPE stagecraft_metric_faults gauge
stagecraft_metric_faults{example="no such key: none",metric="broken"} 1
# HELP wait_seconds `+`
# TYPE wait_seconds histogram
wait_seconds_bucket{le="5"} 5
wait_seconds_bucket{le="10"} 9
wait_seconds_bucket{le="+Inf"} 9
wait_seconds_sum 57
wait_seconds_count 9
`, scrape(t, file, measured(t), "/metrics/nodes/n"))
	require.Equal(t, "no Metric has the path /metrics/nodes/other for Node n\n", scrape(t, file, measured(t), "/metrics/nodes/other"))
	other := measured(t)
	other.Node.SetName("other")
	require.Equal(t, "no Metric has the path /metrics/nodes/n for Node other: the Metric n has this path for the Node of its name: "+
		"set metadata.name to other, or write {nodeName} in spec.path for all Nodes\n", scrape(t, file, other, "/metrics/nodes/n"))
	_, err := kwok.Parse("m.yaml", []byte(strings.Replace(file, "/metrics/nodes/n", "/metrics/resource", 1)))
	require.EqualError(t, err, "m.yaml:6:9: spec.path: /metrics/resource is the path of the kubelet's own metrics: want another path, such as /metrics/nodes/{nodeName}/metrics/resource")
}

// TestRandIsDeterministic: numbers differ by object and by time, and are the same for the same.
func TestRandIsDeterministic(t *testing.T) {
	draw := func(seconds int) string {
		used := measured(t)
		used.Time = used.Time.Add(time.Duration(seconds) * time.Second)
		return strings.Join(values(scrape(t, metric("pod", "Rand() * 1000.0 + Rand()"), used, "/metrics/nodes/n")), " ")
	}
	require.Equal(t, draw(0), draw(0))
	require.NotEqual(t, draw(0), draw(1))
}

// TestMetricFaults: each fault of a Metric has its position.
func TestMetricFaults(t *testing.T) {
	_, err := kwok.Parse("m.yaml", []byte(`kind: Metric
apiVersion: kwok.x-k8s.io/v1alpha1
metadata: {name: m}
spec:
  path: /metrics/{node}
  metrics:
  - name: a
    kind: sum
    dimension: cluster
    labels:
    - {name: l, value: pod.metadata.nam}
    unit: s
  - {name: b, kind: gauge}
  - {name: b, kind: counter, value: 'node.Usage("disk")'}
  - {name: c, kind: histogram, value: '1', buckets: [{le: 1, value: nothing}, {le: 1, value: '1'}, {le: -1, value: 'node.CumulativeUsage("memory")'}]}
  - {name: d, kind: gauge, value: 'pod.SinceSecond()', buckets: [{le: 1, value: '1'}]}
  - {name: "", kind: gauge, value: '1'}
  - {name: e, kind: gauge, dimension: pod, value: 'container.resources.limits.size()'}
`))
	for _, want := range []string{
		`m.yaml:5:9: spec.path: "/metrics/{node}" is not supported: want words and {nodeName} between slashes`,
		`m.yaml:8:11: spec.metrics[0].kind: want counter, gauge or histogram, got "sum"`,
		`m.yaml:9:16: spec.metrics[0].dimension: want node, pod or container, got "cluster"`,
		`m.yaml:11:24: spec.metrics[0].labels[0].value: undefined field "nam"`,
		"m.yaml:12:5: spec.metrics[0].unit: unknown field",
		"m.yaml:13:5: spec.metrics[1].value: want an expression",
		"m.yaml:14:5: spec.metrics[2]: an earlier metric b has another help or kind",
		`m.yaml:14:37: spec.metrics[2].value: Usage of "disk" is not supported: want one of [cpu memory]`,
		"m.yaml:15:39: spec.metrics[3].value: a histogram has buckets instead of a value",
		"spec.metrics[3].buckets[0].value: ", "undeclared reference to 'nothing'",
		"spec.metrics[3].buckets[1].le: two buckets have the same le", "spec.metrics[3].buckets[2].le: want a number of at least 0",
		`spec.metrics[3].buckets[2].value: CumulativeUsage of "memory" is not supported: want one of [cpu]`, "spec.metrics[4].buckets: only a histogram has buckets",
		`spec.metrics[5]: "" is not a valid metric name`,
		"spec.metrics[6].value: a metric of the dimension pod has no container", `spec.metrics[4].value: a metric of the dimension node has no pod`,
	} {
		require.ErrorContains(t, err, want)
	}
	for expression, want := range map[string]string{
		"node.metadata.name": "undeclared reference to 'node'", `pod.Usage("cpu")`: "undeclared reference to 'Usage'", "pod.spec.containers[0].nam": `undefined field "nam"`,
	} {
		_, err := kwok.Parse("u.yaml", []byte(`{kind: ClusterResourceUsage, apiVersion: kwok.x-k8s.io/v1alpha1, metadata: {name: x}, spec: {usages: [
  {usage: {cpu: {expression: '`+expression+`'}}}]}}`))
		require.ErrorContains(t, err, want)
	}
}

// TestNumbersAreExact: an expression and a value of the same amount give the same number in a metric.
func TestNumbersAreExact(t *testing.T) {
	for _, usage := range []string{"value: 200m", `expression: 'Quantity("200m")'`, `expression: 'Quantity("100m") * 2'`, `expression: "0.2"`} {
		o := parsed(t, "{kind: ClusterResourceUsage, apiVersion: kwok.x-k8s.io/v1alpha1, metadata: {name: x}, spec: {usages: [{usage: {cpu: {"+usage+"}}}]}}").Options(kwok.Host{})
		used := measured(t)
		u, err := o.Usage(used.Pods[0].Containers[0].Container, now)
		require.NoError(t, err)
		used.Pods[0].Usage = u
		require.Equal(t, []string{"0.2"}, values(scrape(t, metric("pod", `pod.Usage("cpu")`), used, "/metrics/nodes/n")), usage)
	}
	require.Equal(t, []string{"0.035"}, values(scrape(t, metric("node", `Quantity("35m")`), measured(t), "/metrics/nodes/n")))
}

// TestMetricsThatCannotBeServed are faults of the file, not of each scrape.
func TestMetricsThatCannotBeServed(t *testing.T) {
	for metrics, want := range map[string]string{
		`{name: a, kind: gauge, value: "1"}, {name: a, kind: gauge, value: "2"}`:                    "spec.metrics[1]: an earlier metric a has the same labels: want labels with other values",
		`{name: bad name, kind: gauge, value: "1"}`:                                                 `m.yaml:2:10: spec.metrics[0].name: want a name of letters, digits, _, : and dots, got "bad name"`,
		`{name: a, kind: gauge, value: "1", labels: [{name: bad-name, value: node.metadata.name}]}`: `spec.metrics[0].labels[0].name: want a name of letters, digits, _ and dots, got "bad-name"`,
		`{name: a, kind: gauge, value: "1", labels: [{name: l, value: "1"}]}`:                       "m.yaml:2:64: spec.metrics[0].labels[0].value: want a string, got a value of type int",
		`{name: a, kind: counter, value: "-1"}`:                                                     "spec.metrics[0].value: want a number of at least 0, got -1",
		`{name: a, kind: gauge, value: "[1]"}`:                                                      "spec.metrics[0].value: want a number, got a value of type list(int)",
		`{name: a, kind: gauge, value: "1/0"}`:                                                      "spec.metrics[0].value: division by zero",
		`{name: a, kind: histogram, buckets: [{le: 1, value: "-1"}]}`:                               "spec.metrics[0].buckets[0].value: want a number from 0 to 1e15, got -1",
	} {
		_, err := kwok.Parse("m.yaml", []byte("{kind: Metric, apiVersion: kwok.x-k8s.io/v1alpha1, metadata: {name: m}, spec: {path: /metrics, metrics: [\n  "+metrics+"]}}"))
		require.ErrorContains(t, err, want)
	}
	file := strings.Replace(metric("node", "1.0 - node.SinceSecond()"), "kind: gauge", "kind: counter", 1)
	require.Contains(t, scrape(t, file, measured(t), "/metrics/nodes/n"), `stagecraft_metric_faults{example="want a number of at least 0, got -599",metric="x"} 1`)
}

// TestSamplesWithTheSameLabels: the first one is served, with all other metrics, and the others count.
func TestSamplesWithTheSameLabels(t *testing.T) {
	file := strings.Replace(metric("container", "1"), "metrics: [", "metrics: [{name: y, kind: gauge, value: '2'}, ", 1)
	text := scrape(t, file, measured(t), "/metrics/nodes/n")
	require.Contains(t, text, "\nx 1\n")
	require.Contains(t, text, "\ny 2\n")
	require.Contains(t, text, `stagecraft_metric_faults{example="two samples have the same labels: want a label with the name of the container",metric="x"} 1`)
}
