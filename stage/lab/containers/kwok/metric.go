package kwok

import (
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v3"
)

// nodeParameter is the part of a path that stands for the name of a Node.
const nodeParameter = "{nodeName}"

// maxMetrics is how many metrics an object may have, and how many labels or buckets a metric.
const maxMetrics = 1000

// A spot is a field in a file, for faults.
type spot struct {
	*decoder
	n    *yaml.Node
	path string
}

// at returns a spot below this one.
func (s spot) at(path string, steps ...any) spot {
	return spot{s.decoder, find(s.n, steps...), s.path + path}
}

func (s spot) refuse(format string, args ...any) { s.fault(s.n, s.path, format, args...) }

// compile compiles an expression of a metric, which is not optional.
func (s spot) compile(expression, dimension string, want wanted) *program {
	if expression == "" {
		s.refuse("want an expression")
		return nil
	}
	p, err := compile(expression, dimension, want)
	if err != nil {
		s.refuse("%v", err)
	}
	return p
}

// compile checks a Metric and compiles its expressions.
func (s *metricSpec) compile(d *decoder, n *yaml.Node) {
	at := spot{d, n, "spec"}.at(".path", "spec", "path")
	switch rest := strings.ReplaceAll(s.Path, "/"+nodeParameter, ""); {
	case s.Path != "/metrics" && !strings.HasPrefix(s.Path, "/metrics/"):
		at.refuse("want a path that begins with /metrics/, got %q", s.Path)
	case s.Path == "/metrics/resource":
		at.refuse("%s is the path of the kubelet's own metrics: want another path, such as /metrics/nodes/%s/metrics/resource", s.Path, nodeParameter)
	case strings.ContainsAny(rest, "{}*") || path.Clean(s.Path) != s.Path:
		at.refuse("%q is not supported: want words and %s between slashes", s.Path, nodeParameter)
	}
	if len(s.Metrics) > maxMetrics {
		at.refuse("more than %d metrics", maxMetrics)
		return
	}
	first, all := map[string]*metric{}, map[string]bool{}
	for i := range s.Metrics {
		m := &s.Metrics[i]
		at := spot{d, n, "spec"}.at(fmt.Sprintf(".metrics[%d]", i), "spec", "metrics", i)
		if before := first[m.Name]; before == nil {
			first[m.Name] = m
		} else if before.Help != m.Help || before.Kind != m.Kind {
			at.refuse("an earlier metric %s has another help or kind", m.Name)
		} else if all[m.series()] {
			at.refuse("an earlier metric %s has the same labels: want labels with other values", m.Name)
		}
		all[m.series()] = true
		m.compile(at)
	}
}

// series returns the name and labels of a metric. Metrics with the same ones have the same samples.
func (m *metric) series() string {
	labels := make([]string, len(m.Labels))
	for i, l := range m.Labels {
		labels[i] = l.Name + "=" + strings.TrimSpace(l.Value)
	}
	slices.Sort(labels)
	return strings.Join(append([]string{m.Name}, labels...), "\n")
}

// In the names of metrics and labels a dot becomes an underscore, as in a scrape by Prometheus.
var (
	metricName = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:.]*)?$`)
	labelName  = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_.]*)?$`)
)

// compile checks a metric and compiles its expressions.
func (m *metric) compile(at spot) {
	if m.Dimension == "" {
		m.Dimension = "node"
	}
	if !slices.Contains([]string{"node", "pod", "container"}, m.Dimension) {
		at.at(".dimension", "dimension").refuse("want node, pod or container, got %q", m.Dimension)
	}
	if len(m.Labels) > maxMetrics || len(m.Buckets) > maxMetrics {
		at.refuse("more than %d labels or buckets", maxMetrics)
		return
	}
	if !metricName.MatchString(m.Name) { // client_golang refuses ""
		at.at(".name", "name").refuse("want a name of letters, digits, _, : and dots, got %q", m.Name)
	}
	names := make([]string, len(m.Labels))
	for i := range m.Labels {
		l := &m.Labels[i]
		l.program = at.at(fmt.Sprintf(".labels[%d].value", i), "labels", i, "value").compile(l.Value, m.Dimension, aString)
		names[i] = l.Name
		if !labelName.MatchString(l.Name) {
			at.at(fmt.Sprintf(".labels[%d].name", i), "labels", i, "name").refuse("want a name of letters, digits, _ and dots, got %q", l.Name)
		}
	}
	m.desc = prometheus.NewDesc(m.Name, m.Help, names, nil)
	if _, err := prometheus.NewConstMetric(m.desc, prometheus.GaugeValue, 0, names...); err != nil {
		at.refuse("%v", err)
	}
	switch m.Kind {
	case "gauge", "counter":
		want := aNumber
		if m.Kind == "counter" {
			want = aNumber.to(math.Inf(1))
		}
		m.program = at.at(".value", "value").compile(m.Value, m.Dimension, want)
		if len(m.Buckets) > 0 {
			at.at(".buckets", "buckets").refuse("only a histogram has buckets")
		}
	case "histogram":
		if m.Value != "" {
			at.at(".value", "value").refuse("a histogram has buckets instead of a value")
		}
		m.compileBuckets(at)
	default:
		at.at(".kind", "kind").refuse("want counter, gauge or histogram, got %q", m.Kind)
	}
}

func (m *metric) compileBuckets(at spot) {
	seen := map[float64]bool{}
	for i := range m.Buckets {
		b := &m.Buckets[i]
		where := at.at(fmt.Sprintf(".buckets[%d].le", i), "buckets", i, "le")
		switch {
		case math.IsNaN(b.Le) || b.Le < 0:
			where.refuse("want a number of at least 0")
		case seen[b.Le]:
			where.refuse("two buckets have the same le")
		}
		seen[b.Le] = true
		b.program = at.at(fmt.Sprintf(".buckets[%d].value", i), "buckets", i, "value").compile(b.Value, m.Dimension, aNumber.to(1e15))
	}
	slices.SortStableFunc(m.Buckets, func(a, b bucket) int {
		if a.Le < b.Le {
			return -1
		}
		return 1
	})
}
