package kwok

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
)

// kubelet serves the paths of Metrics for a Node.
func (d *doors) kubelet(used containers.NodeUsage) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, m := range d.metrics {
			if m.isAt(r.URL.Path, used.Node.GetName()) {
				registry := prometheus.NewRegistry()
				registry.MustRegister(collector{m, &used})
				promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, r)
				return
			}
		}
		http.Error(w, d.noMetric(r.URL.Path, used.Node.GetName()), http.StatusNotFound)
	})
}

// noMetric says that no Metric answers a request to a Node. A Metric with this path for another Node is
// named.
func (d *doors) noMetric(path, node string) string {
	text := fmt.Sprintf("no Metric has the path %s for Node %s", path, node)
	for _, m := range d.metrics {
		if m.spec.Path == path {
			return fmt.Sprintf("%s: the Metric %s has this path for the Node of its name: set metadata.name to %s, or write %s in spec.path for all Nodes", text, m.name, node, nodeParameter)
		}
	}
	return text
}

// isAt reports whether a path is that of the Metric for a Node. A path without the parameter is that
// of the Node with the name of the Metric.
func (m *metrics) isAt(path, node string) bool {
	if !strings.Contains(m.spec.Path, nodeParameter) {
		return m.spec.Path == path && m.name == node
	}
	return strings.ReplaceAll(m.spec.Path, nodeParameter, node) == path
}

// A collector evaluates a Metric for a Node.
type collector struct {
	*metrics
	used *containers.NodeUsage
}

var faultsDesc = prometheus.NewDesc("stagecraft_metric_faults", "How many values of a metric are missing because an expression failed.", []string{"metric", "example"}, nil)

// Describe sends nothing: the registry does not check the metrics of a single answer beforehand.
func (c collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics. One whose expression fails is left out, and counted, like one that has
// the labels of another.
func (c collector) Collect(out chan<- prometheus.Metric) {
	all, err := c.evaluations()
	if err != nil {
		out <- prometheus.NewInvalidMetric(faultsDesc, err)
		return
	}
	faults, examples, seen := map[string]int{}, map[string]string{}, samples{}
	for i := range c.spec.Metrics {
		m := &c.spec.Metrics[i]
		for _, e := range all[m.Dimension] {
			sample, err := m.sample(e)
			if err == nil && seen.has(m.Name, sample) {
				err = errors.New("two samples have the same labels: want a label with the name of the " + m.Dimension)
			}
			if err != nil {
				faults[m.Name]++
				examples[m.Name] = err.Error()
				continue
			}
			out <- sample
		}
	}
	for name, n := range faults {
		out <- prometheus.MustNewConstMetric(faultsDesc, prometheus.GaugeValue, float64(n), name, examples[name])
	}
}

// samples are the names and labels of the samples of an answer.
type samples map[string]bool

// has reports whether an earlier sample has the same name and labels, and adds this one.
func (s samples) has(name string, sample prometheus.Metric) bool {
	var written dto.Metric
	if sample.Write(&written) != nil {
		return false // the registry reports it
	}
	key := fmt.Sprint(name, written.GetLabel())
	before := s[key]
	s[key] = true
	return before
}

// evaluations returns what the metrics of each dimension are evaluated for.
func (c collector) evaluations() (map[string][]*evaluation, error) {
	var node corev1.Node
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(c.used.Node.Object, &node); err != nil {
		return nil, err
	}
	base, now := evaluation{node: c.used, now: c.used.Time}, map[string][]*evaluation{}
	of := base
	now["node"] = []*evaluation{of.with(map[string]any{"node": node})}
	for i := range c.used.Pods {
		var pod corev1.Pod
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(c.used.Pods[i].Pod.Object, &pod); err != nil {
			return nil, err
		}
		of := base
		of.pod = &c.used.Pods[i]
		now["pod"] = append(now["pod"], of.with(map[string]any{"node": node, "pod": pod}))
		for _, container := range pod.Spec.Containers {
			in := of
			in.container = container.Name
			now["container"] = append(now["container"], in.with(map[string]any{"node": node, "pod": pod, "container": container}))
		}
	}
	return now, nil
}

// sample evaluates a metric.
func (m *metric) sample(e *evaluation) (prometheus.Metric, error) {
	labels := make([]string, len(m.Labels))
	for i, l := range m.Labels {
		var err error
		if labels[i], err = l.program.string(e); err != nil {
			return nil, fmt.Errorf("label %s: %w", l.Name, err)
		}
	}
	if m.Kind == "histogram" {
		return m.histogram(e, labels)
	}
	value, err := m.program.float(e)
	if err != nil {
		return nil, err
	}
	kind := prometheus.GaugeValue
	if m.Kind == "counter" {
		kind = prometheus.CounterValue
	}
	return prometheus.NewConstMetric(m.desc, kind, value, labels...)
}

// histogram adds up buckets, which are sorted. A hidden one counts in those after it.
func (m *metric) histogram(e *evaluation, labels []string) (prometheus.Metric, error) {
	buckets, count, sum := map[float64]uint64{}, uint64(0), 0.0
	for _, b := range m.Buckets {
		n, err := b.program.float(e)
		if err != nil {
			return nil, fmt.Errorf("the bucket %v: %w", b.Le, err)
		}
		count += uint64(n)
		sum += b.Le * float64(uint64(n))
		if !b.Hidden {
			buckets[b.Le] = count
		}
	}
	return prometheus.NewConstHistogram(m.desc, count, sum, buckets, labels...)
}
