package metrics

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/kubernetes"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

// A description is what a kubelet says of a metric: NewDesc(name, help, labels, nil, stability, deprecated).
type description struct {
	help, stability, deprecated string
	labels                      []string
}

// described reads the descriptions in the source of the kubelet.
func described(t *testing.T) map[string]description {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
	require.NoError(t, err)
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(dir)), "pkg/kubelet/metrics/collectors/resource_metrics.go"), nil, 0)
	require.NoError(t, err)
	text := func(e ast.Expr) string {
		s, err := strconv.Unquote(e.(*ast.BasicLit).Value)
		require.NoError(t, err)
		return s
	}
	all := map[string]description{}
	ast.Inspect(file, func(n ast.Node) bool {
		call, is := n.(*ast.CallExpr)
		if !is {
			return true
		}
		if f, is := call.Fun.(*ast.SelectorExpr); !is || f.Sel.Name != "NewDesc" {
			return true
		}
		d := description{help: text(call.Args[1]), stability: call.Args[4].(*ast.SelectorExpr).Sel.Name, deprecated: text(call.Args[5])}
		if list, is := call.Args[2].(*ast.CompositeLit); is {
			for _, label := range list.Elts {
				d.labels = append(d.labels, text(label))
			}
		}
		all[text(call.Args[0])] = d
		return true
	})
	return all
}

// served reads the metrics of the server.
func served(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	lab := labtest.New(t, labtest.Options{Nodes: 1, Containers: containers.Options{Usage: func(containers.Container, time.Time) (containers.Usage, error) {
		return containers.Usage{CPU: resource.MustParse("250m"), Memory: resource.MustParse("64Mi")}, nil
	}}})
	config := apiserver.Start(t, lab.Cluster(), apiserver.Options{})
	lab.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}`)
	lab.WaitCurrent()
	text, err := kubernetes.NewForConfigOrDie(config).CoreV1().RESTClient().Get().AbsPath("/api/v1/nodes/node-1/proxy/metrics/resource").DoRaw(t.Context())
	require.NoError(t, err)
	p := expfmt.NewTextParser(model.LegacyValidation)
	families, err := p.TextToMetricFamilies(strings.NewReader(string(text)))
	require.NoError(t, err)
	return families
}

// TestSameMetrics: each stable metric of the kubelet is served, with its help, type and labels. Swap is not
// simulated.
func TestSameMetrics(t *testing.T) {
	ours := served(t)
	for name, theirs := range described(t) {
		if theirs.stability != "STABLE" {
			require.NotContains(t, ours, name)
			require.True(t, strings.Contains(name, "swap") || theirs.deprecated != "", "%s is not served", name)
			continue
		}
		family := ours[name]
		require.NotNil(t, family, name)
		delete(ours, name)
		require.Equal(t, "[STABLE] "+theirs.help, family.GetHelp())
		isCounter := strings.HasSuffix(name, "_total")
		require.Equal(t, isCounter, family.GetType() == dto.MetricType_COUNTER, name)
		require.Equal(t, !isCounter, family.GetType() == dto.MetricType_GAUGE, name)
		var labels []string
		for _, pair := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, pair.GetName())
		}
		require.ElementsMatch(t, theirs.labels, labels, name)
		_, hasTime := map[string]bool{"container_start_time_seconds": true, "resource_scrape_error": true}[name]
		require.Equal(t, !hasTime, family.GetMetric()[0].TimestampMs != nil, "%s: a time of its measurement", name)
	}
	require.Empty(t, ours, "metrics that a kubelet does not have")
}
