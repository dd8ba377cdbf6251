package stagecraft_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/stagecraft-go/stagecraft/"

// mayImport lists, for each package, which others of this module it may use directly. Arrows point
// down only; what stands nowhere else may be imported by commands, examples and tests alone.
var mayImport = map[string][]string{
	"stage/v1alpha1":                  {},
	"stage/transport":                 {},
	"internal/object":                 {},
	"stage/lab/internal/builtin":                {},
	"internal/cron":                   {},
	"internal/patch":                  {},
	"internal/managedfields":          {"internal/object"},
	"internal/position":               {},
	"internal/layout":                 {},
	"stage/lab/internal/lines":                  {},
	"internal/listwatch":              {"stage/transport"},
	"internal/printable":              {},
	"internal/txtar":                  {},
	"internal/jq":                     {"internal/object", "internal/position", "internal/regexcost"},
	"internal/cel":                    {"internal/object", "internal/position", "internal/regexcost"},
	"internal/regexcost":              {},
	"internal/expression":             {"internal/cel", "internal/jq", "internal/object", "internal/position", "internal/random", "stage/v1alpha1"},
	"internal/selectors":              {"internal/expression", "internal/jq", "internal/object", "internal/position", "stage/v1alpha1"},
	"internal/delays":                 {"internal/expression", "internal/position", "stage/v1alpha1"},
	"selector":                        {"internal/expression", "internal/selectors", "internal/position", "stage/v1alpha1"},
	"delay":                           {"internal/delays", "internal/expression", "internal/position", "selector", "stage/v1alpha1"},
	"internal/files":                  {},
	"internal/fastyaml":               {},
	"render":                          {"internal/fastyaml", "internal/object", "internal/regexcost"},
	"stage":                           {"internal/printable", "selector", "delay", "render", "internal/delays", "internal/expression", "internal/selectors", "internal/random", "internal/timequeue", "internal/object", "internal/patch", "internal/position", "stage/v1alpha1"},
	"internal/random":                 {},
	"internal/timequeue":              {},
	"stage/player":                    {"stage", "internal/listwatch", "internal/printable", "internal/patch", "internal/random", "internal/timequeue", "stage/transport"},
	"internal/dev/contract":           {},
	"internal/dev/race":               {},
	"internal/dev/fixture":            {"stage"},
	"internal/ownership":              {"internal/object"},
	"internal/dev/recording":          {"stage", "stage/transport"},
	"kstatus/internal/words":          {},
	"kstatus":                         {"internal/ownership", "internal/object", "internal/printable", "kstatus/internal/words"},
	"kstatus/wait":                    {"kstatus", "internal/listwatch", "internal/ownership", "internal/printable", "stage/transport"},
	"kstatus/kstatustest":             {"kstatus", "internal/object"},
	"kstatus/celrule":                 {"kstatus", "internal/expression", "internal/position"},
	"stage/memory":                    {"internal/managedfields", "internal/object", "internal/patch", "stage/transport"},
	"stage/lab/defaults":                  {"stage/lab/internal/builtin", "internal/object", "stage/memory"},
	"stage/lab/validation":                {"internal/object", "stage/memory"},
	"stage/lint":                      {"internal/printable", "delay", "internal/position", "selector", "stage", "stage/v1alpha1"},
	"stage/presets":                   {"stage"},
	"stage/diagram":                   {"delay", "internal/layout", "stage", "stage/explore", "stage/v1alpha1"},
	"stage/explore":                   {"internal/printable", "stage/player", "delay", "internal/object", "stage", "stage/memory"},
	"stage/reconcile/timing":                    {"internal/random", "internal/timequeue"},
	"stage/reconcile":                 {"internal/listwatch", "internal/object", "internal/printable", "internal/random", "stage/reconcile/timing", "stage/transport"},
	"stage/simulation":                {"internal/random", "stage/player", "stage", "stage/memory", "stage/reconcile", "stage/reconcile/timing", "stage/transport"},
	"stage/lab/fault":          {"internal/object", "stage/lab/controllers/nodes", "stage/memory", "stage/lab/load"},
	"stage/lab/load":           {"internal/jq", "internal/printable", "stage/lab/internal/lines", "internal/position"},
	"stage/lab/record":         {"internal/printable", "stage/lab/internal/lines", "internal/position", "internal/files", "internal/object", "stage", "stage/lab/controllers/resources"},
	"stage/lab/fit":                       {"internal/printable", "stage", "stage/lab/record", "stage/v1alpha1"},
	"stage/lab/measure":        {"internal/printable", "stage/lab/record"},
	"stage/lab/statistics":     {},
	"stage/lab/progress":       {},
	"stage/lab/sweep":          {"internal/files", "stage/lab/internal/lines", "internal/printable", "stage/lab/statistics"},
	"stage/lab/expect":         {"internal/position", "stage/lab/measure", "stage/lab/record"},
	"stage/stagetest":                 {"internal/printable", "stage/lab/controllers/admission", "stage", "stage/memory", "stage/simulation", "stage/reconcile", "stage/lab/controllers", "stage/lab/controllers/autoscaling", "stage/lab/controllers/features", "stage/lab/controllers/kubelet", "stage/lab/controllers/nodes", "stage/presets", "kstatus", "kstatus/kstatustest", "internal/files", "internal/object", "internal/txtar", "stage/lab/defaults", "stage/lab/validation"},
	"stage/lab/hunt":                      {"internal/files", "internal/object", "stage/lab/controllers/features", "stage/memory", "stage/reconcile", "stage/simulation", "stage/lab/fault", "stage/stagetest", "stage/transport"},
	"internal/dev/conformance/record": {"stage"},
	"stage/lab/internal/hunts/newest":        {"internal/files", "stage/lab/hunt"},
	"internal/dev/instructions":       {"internal/files", "kstatus", "stage", "stage/presets", "stage/simulation"},
	"internal/dev/conformance":        {"stage", "kstatus", "internal/dev/conformance/record", "staged", "staged/control", "staged/kubestellar"},
	"staged/control":                  {},
	"staged/v1alpha1":                 {"staged/control"},
	"staged":                          {"internal/printable", "internal/cron", "internal/position", "staged/control", "staged/internal/eval", "staged/v1alpha1"},
	"staged/player":                   {"internal/listwatch", "staged", "staged/control", "staged/v1alpha1", "stage/transport"},
	"staged/internal/eval":            {"internal/cel", "internal/object"},
	"staged/kubestellar":              {"internal/position", "staged/control", "staged/internal/eval"},
	"examples/readiness":              {"kstatus"},
	"staged/rehearse":                 {"internal/printable", "internal/object", "internal/position", "stage", "stage/memory", "stage/simulation", "staged", "staged/control", "staged/kubestellar", "staged/v1alpha1"},
	"examples/rollout":                {"stage", "staged", "staged/control", "staged/rehearse", "staged/v1alpha1"},
	"examples/lifecycle":              {"internal/files", "kstatus", "stage", "stage/diagram", "stage/explore", "stage/lint", "stage/memory", "stage/presets", "stage/v1alpha1"},
	"examples/quickstart":             {"stage", "stage/memory", "stage/presets", "stage/simulation"},

	// The controllers of Kubernetes.
	"stage/lab/controllers":                       {"stage/lab/controllers/autoscaling", "stage/lab/controllers/batch", "stage/lab/controllers/disruption", "stage/lab/controllers/internal/pods", "stage/lab/controllers/nodes", "stage/lab/controllers/quota", "stage/lab/controllers/scheduling", "stage/lab/controllers/services", "stage/lab/controllers/volumes", "stage/lab/controllers/workloads", "stage/reconcile"},
	"stage/lab/controllers/admission":             {"internal/patch", "stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/lab/controllers/quota", "stage/memory"},
	"stage/lab/controllers/autoscaling":           {"internal/object", "internal/patch", "stage/lab/controllers/internal/conditions", "stage/lab/controllers/internal/control", "stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/lab/controllers/internal/pods", "stage/lab/controllers/resources", "stage/reconcile"},
	"stage/lab/controllers/batch":                 {"internal/object", "stage/lab/controllers/internal/conditions", "stage/lab/controllers/internal/control", "stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/lab/controllers/internal/lists", "stage/lab/controllers/internal/pods", "stage/lab/controllers/internal/selectors", "stage/reconcile"},
	"stage/lab/controllers/disruption":            {"stage/lab/controllers/internal/conditions", "stage/lab/controllers/internal/control", "stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/lab/controllers/internal/pods", "stage/reconcile"},
	"stage/lab/controllers/internal/clustertest":  {"kstatus", "stage", "stage/lab/controllers", "stage/lab/controllers/nodes", "stage/presets", "stage/reconcile", "stage/simulation", "stage/lab/controllers/admission", "stage/memory"},
	"stage/lab/controllers/internal/conditions":   {"internal/object", "stage/lab/controllers/internal/fields"},
	"stage/lab/controllers/internal/control":      {"internal/object", "internal/patch", "stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/selectors", "stage/reconcile", "stage/transport"},
	"stage/lab/controllers/internal/fields":       {"internal/object"},
	"stage/lab/controllers/internal/kinds":        {},
	"stage/lab/controllers/internal/lists":        {},
	"stage/lab/controllers/internal/pods":         {"internal/object", "stage/lab/controllers/internal/conditions", "stage/lab/controllers/internal/control", "stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/lab/controllers/internal/selectors", "stage/reconcile"},
	"stage/lab/controllers/internal/selectors":    {"internal/object", "stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/reconcile"},
	"stage/lab/controllers/internal/storageclass": {"internal/object", "stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/reconcile"},
	"stage/lab/controllers/features":              {},
	"stage/lab/controllers/kubelet":               {"stage/lab/controllers/internal/conditions", "stage/lab/controllers/internal/control", "stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/lab/controllers/internal/pods", "stage/lab/controllers/nodes", "stage/reconcile"},
	"stage/lab/controllers/nodes":                 {"internal/object", "internal/patch", "stage/lab/controllers/internal/conditions", "stage/lab/controllers/internal/control", "stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/lab/controllers/internal/pods", "stage/reconcile"},
	"stage/lab/controllers/quota":                 {"internal/patch", "stage/lab/controllers/internal/control", "stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/memory", "stage/reconcile"},
	"stage/lab/controllers/resources":             {"internal/object"},
	"stage/lab/controllers/scheduling":            {"internal/object", "internal/patch", "stage/lab/controllers/internal/conditions", "stage/lab/controllers/internal/control", "stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/lab/controllers/internal/pods", "stage/lab/controllers/internal/selectors", "stage/lab/controllers/internal/storageclass", "stage/lab/controllers/resources", "stage/reconcile"},
	"stage/lab/controllers/services":              {"internal/object", "internal/patch", "stage/lab/controllers/internal/conditions", "stage/lab/controllers/internal/control", "stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/lab/controllers/internal/lists", "stage/lab/controllers/internal/pods", "stage/lab/controllers/internal/selectors", "stage/reconcile"},
	"stage/lab/controllers/volumes":               {"internal/patch", "stage/lab/controllers/internal/control", "stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/lab/controllers/internal/pods", "stage/lab/controllers/internal/selectors", "stage/lab/controllers/internal/storageclass", "stage/lab/controllers/resources", "stage/reconcile"},
	"stage/lab/controllers/workloads":             {"internal/object", "internal/patch", "stage/lab/controllers/internal/conditions", "stage/lab/controllers/internal/control", "stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/lab/controllers/internal/lists", "stage/lab/controllers/internal/pods", "stage/lab/controllers/internal/selectors", "stage/lab/controllers/scheduling", "stage/reconcile"},
}

// budgets are how many packages outside the standard library a package may link, our own counted.
var budgets = map[string]int{"stage": 180, "selector": 165, "delay": 165, "kstatus": 70, "kstatus/wait": 75, "staged": 150, "stage/memory": 75}

func golist(t *testing.T, args ...string) []string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list"}, args...)...).Output()
	require.NoError(t, err)
	return strings.Fields(string(out))
}

// touchSources looks at every Go file, so that go test knows that a cached result is stale: it does
// not see what go list reads.
func touchSources(t *testing.T) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".go" {
			_, err = os.Stat(path)
		}
		return err
	}))
}

func TestImportsPointDown(t *testing.T) {
	touchSources(t)
	for _, pkg := range golist(t, "./...") {
		name := strings.TrimPrefix(pkg, module)
		if name+"/" == module {
			continue
		}
		allowed, known := mayImport[name]
		require.True(t, known, "%s has no place in the table", name)
		for _, dep := range golist(t, "-f", `{{join .Imports "\n"}}`, pkg) {
			if rest, ours := strings.CutPrefix(dep, module); ours {
				require.Contains(t, allowed, rest, "%s imports %s", name, rest)
			}
		}
	}
}

func TestPackageBudgets(t *testing.T) {
	for name, budget := range budgets {
		deps := slices.DeleteFunc(golist(t, "-deps", module+name), func(dep string) bool {
			first, _, _ := strings.Cut(dep, "/")
			return !strings.Contains(first, ".")
		})
		t.Logf("%s links %d of %d packages", name, len(deps), budget)
		require.LessOrEqual(t, len(deps), budget, name)
	}
}

func TestHeavyPackagesStayOut(t *testing.T) {
	deps := golist(t, "-deps", "./...")
	for _, heavy := range []string{"k8s.io/api/core/v1", "k8s.io/client-go/kubernetes", "k8s.io/apimachinery/pkg/util/strategicpatch", "k8s.io/apimachinery/pkg/util/managedfields", "gonum.org/v1/plot"} {
		require.NotContains(t, deps, heavy)
	}
}
