package house_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// coreMayImport lists, for each package of the core, which other packages of the core it may
// import. Arrows point down only. Only commands, examples and tests may import a package without a
// list.
var coreMayImport = map[string][]string{
	"stage/v1alpha1":                  {},
	"stage/transport":                 {},
	"internal/object":                 {},
	"internal/cron":                   {},
	"internal/patch":                  {},
	"internal/managedfields":          {"internal/object"},
	"internal/position":               {"internal/printable"},
	"internal/layout":                 {},
	"internal/listwatch":              {"stage/transport"},
	"internal/printable":              {},
	"internal/txtar":                  {},
	"internal/jq":                     {"internal/object", "internal/position", "internal/regexcost"},
	"internal/cel":                    {"internal/object", "internal/position", "internal/regexcost"},
	"internal/regexcost":              {},
	"internal/expression":             {"internal/cel", "internal/jq", "internal/object", "internal/position", "internal/random", "stage/v1alpha1"},
	"internal/parts":                  {"internal/expression", "internal/jq", "internal/object", "internal/position", "stage/v1alpha1"},
	"selector":                        {"internal/parts", "internal/expression", "internal/position", "stage/v1alpha1"},
	"delay":                           {"internal/parts", "internal/expression", "internal/position", "selector", "stage/v1alpha1"},
	"internal/files":                  {},
	"render":                          {"internal/object", "internal/position", "internal/regexcost"},
	"stage":                           {"internal/parts", "internal/printable", "selector", "delay", "render", "internal/expression", "internal/random", "internal/timequeue", "internal/object", "internal/patch", "internal/position", "stage/v1alpha1"},
	"internal/random":                 {},
	"internal/timequeue":              {},
	"stage/player":                    {"stage", "internal/listwatch", "internal/printable", "internal/patch", "internal/random", "internal/timequeue", "stage/transport"},
	"internal/dev/contract":           {},
	"internal/dev/effort":             {},
	"internal/dev/race":               {},
	"internal/dev/faults":             {"stage/transport"},
	"internal/dev/histories":          {"internal/dev/faults", "stage", "stage/memory", "stage/player", "stage/transport"},
	"internal/dev/work":               {"internal/files"},
	"internal/dev/test":               {},
	"internal/dev/migrate":            {"internal/files"},
	"internal/dev/fixture":            {"stage"},
	"internal/ownership":              {"internal/object"},
	"internal/dev/recording":          {"stage", "stage/transport"},
	"kstatus/internal/words":          {},
	"kstatus":                         {"internal/ownership", "internal/object", "internal/printable", "kstatus/internal/words"},
	"kstatus/wait":                    {"kstatus", "internal/listwatch", "internal/ownership", "internal/printable", "stage/transport"},
	"kstatus/kstatustest":             {"kstatus", "internal/object"},
	"kstatus/audit":                   {"kstatus", "internal/object", "internal/printable", "kstatus/internal/words"},
	"kstatus/celrule":                 {"kstatus", "internal/expression", "internal/position"},
	"stage/memory":                    {"internal/managedfields", "internal/object", "internal/patch", "stage/transport"},
	"stage/lint":                      {"internal/parts", "internal/printable", "delay", "internal/position", "selector", "stage", "stage/v1alpha1"},
	"stage/presets":                   {"stage"},
	"stage/diagram":                   {"internal/parts", "delay", "internal/expression", "internal/layout", "stage", "stage/explore", "stage/v1alpha1"},
	"stage/explore":                   {"internal/printable", "stage/player", "delay", "internal/object", "stage", "stage/memory"},
	"stage/reconcile/timing":          {"internal/random", "internal/timequeue"},
	"stage/reconcile":                 {"internal/listwatch", "internal/object", "internal/printable", "internal/random", "internal/timequeue", "stage/reconcile/timing", "stage/transport"},
	"stage/simulation":                {"internal/random", "internal/timequeue", "stage/player", "stage", "stage/memory", "stage/reconcile", "stage/reconcile/timing", "stage/transport"},
	"stage/stagetest":                 {"internal/printable", "stage", "stage/memory", "stage/simulation", "internal/files", "internal/txtar"},
	"internal/dev/conformance/record": {"stage"},
	"internal/dev/instructions":       {"internal/files", "kstatus", "stage", "stage/presets", "stage/simulation"},
	"internal/dev/conformance":        {"stage", "kstatus", "internal/dev/conformance/record", "staged", "staged/control", "staged/kubestellar"},
	"staged/control":                  {},
	"staged/v1alpha1":                 {"staged/control"},
	"staged":                          {"internal/printable", "internal/cron", "internal/position", "staged/control", "staged/fleet", "staged/internal/eval", "staged/kubestellar", "staged/v1alpha1"},
	"staged/fleet":                    {"staged/control", "staged/kubestellar", "staged/v1alpha1"},
	"staged/bindingpolicy":            {"staged", "staged/control", "staged/fleet", "staged/kubestellar", "staged/v1alpha1"},
	"staged/application":              {"internal/listwatch", "stage/transport", "staged", "staged/control", "staged/fleet", "staged/kubestellar", "staged/player", "staged/v1alpha1"},
	"staged/manifestwork":             {"internal/listwatch", "stage/transport", "staged", "staged/fleet", "staged/kubestellar", "staged/player", "staged/v1alpha1"},
	"staged/player":                   {"internal/listwatch", "staged", "staged/bindingpolicy", "staged/control", "staged/fleet", "staged/kubestellar", "staged/v1alpha1", "stage/transport"},
	"staged/internal/oracle":          {},
	"staged/internal/eval":            {"internal/cel", "internal/object"},
	"staged/kubestellar":              {"internal/position", "staged/control", "staged/internal/eval"},
	"examples/readiness":              {"kstatus", "stage"},
	"staged/rehearse":                 {"internal/printable", "internal/object", "internal/position", "stage", "stage/memory", "stage/simulation", "staged", "staged/bindingpolicy", "staged/control", "staged/fleet", "staged/kubestellar", "staged/v1alpha1"},
	"examples/rollout":                {"stage", "stage/memory", "staged", "staged/application", "staged/control", "staged/fleet", "staged/kubestellar", "staged/manifestwork", "staged/player", "staged/rehearse"},
	"examples/lifecycle":              {"stage", "stage/explore", "stage/presets"},
	"examples/quickstart":             {"stage", "stage/memory", "stage/presets", "stage/simulation"},
}

// labMayImport is the same for the module stage/lab. Its packages use the public packages of the core.
var labMayImport = map[string][]string{
	"stage/lab":                                  {},
	"stage/lab/internal/builtin":                 {},
	"stage/lab/internal/lines":                   {},
	"stage/lab/internal/strict":                  {"stage/lab/definitions", "stage/memory"},
	"stage/lab/internal/celpatterns":             {},
	"stage/lab/internal/hostile":                 {},
	"stage/lab/defaults":                         {"stage/lab/internal/builtin", "stage/memory", "stage/lab/internal/object"},
	"stage/lab/validation":                       {"stage/lab/internal/schedules", "stage/memory", "stage/lab/internal/object"},
	"stage/lab/backup":                           {"stage", "stage/memory", "stage/transport"},
	"stage/lab/fault":                            {"stage/lab/controllers/nodes", "stage/memory", "stage/lab/load", "stage/lab/internal/object"},
	"stage/lab/load":                             {"stage/lab/internal/lines", "stage/lab/internal/printable"},
	"stage/lab/record":                           {"stage/lab/internal/lines", "stage", "stage/lab/controllers/resources", "stage/lab/internal/files", "stage/lab/internal/object", "stage/lab/internal/printable", "stage/transport"},
	"stage/lab/fit":                              {"delay", "stage", "stage/lab/record", "stage/v1alpha1", "stage/lab/internal/printable"},
	"stage/lab/measure":                          {"stage/lab/record", "stage/lab/internal/printable"},
	"stage/lab/statistics":                       {},
	"stage/lab/progress":                         {},
	"stage/lab/internal/garbage":                 {},
	"stage/lab/sweep":                            {"stage/lab/internal/garbage", "stage/lab/internal/lines", "stage/lab/statistics", "stage/lab/internal/files", "stage/lab/internal/printable"},
	"stage/lab/expect":                           {"stage/lab/measure", "stage/lab/record"},
	"stage/lab/hunt":                             {"stage/lab/internal/garbage", "stage/lab/controllers/features", "stage/lab/controllers/namespaces", "stage/memory", "stage/reconcile", "stage/simulation", "stage/lab/fault", "stage/transport", "stage/lab/internal/files", "stage/lab/internal/object", "stage/lab/labtest", "stage/lab/containers"},
	"stage/lab/internal/hunts/newest":            {"stage/lab/hunt", "stage/lab/internal/files"},
	"stage/lab/controllers":                      {"stage/lab/controllers/namespaces", "stage/lab/controllers/autoscaling", "stage/lab/controllers/batch", "stage/lab/controllers/certificates", "stage/lab/controllers/disruption", "stage/lab/controllers/internal/pods", "stage/lab/controllers/nodes", "stage/lab/controllers/quota", "stage/lab/controllers/scheduling", "stage/lab/controllers/services", "stage/lab/controllers/volumes", "stage/lab/controllers/workloads", "stage/reconcile", "stage/lab/controllers/roles"},
	"stage/lab/controllers/admission":            {"stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/lab/controllers/quota", "stage/memory", "stage/lab/internal/object"},
	"stage/lab/controllers/autoscaling":          {"stage/lab/controllers/internal/conditions", "stage/lab/controllers/internal/control", "stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/lab/controllers/internal/pods", "stage/lab/controllers/resources", "stage/reconcile", "stage/lab/internal/object"},
	"stage/lab/controllers/batch":                {"stage/lab/controllers/internal/conditions", "stage/lab/controllers/internal/control", "stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/lab/controllers/internal/lists", "stage/lab/controllers/internal/pods", "stage/lab/controllers/internal/selectors", "stage/lab/internal/schedules", "stage/reconcile", "stage/lab/internal/object"},
	"stage/lab/controllers/disruption":           {"stage/lab/controllers/internal/conditions", "stage/lab/controllers/internal/control", "stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/lab/controllers/internal/pods", "stage/reconcile"},
	"stage/lab/controllers/internal/clustertest": {"kstatus", "stage", "stage/lab/controllers", "stage/lab/controllers/nodes", "stage/presets", "stage/reconcile", "stage/simulation", "stage/lab/controllers/admission", "stage/memory"},
	"stage/lab/controllers/internal/conditions":  {"stage/lab/controllers/internal/fields", "stage/lab/internal/object"},
	"stage/lab/controllers/internal/control":     {"stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/lab/controllers/internal/selectors", "stage/reconcile", "stage/transport", "stage/lab/internal/object"},
	"stage/lab/controllers/internal/fields":      {"stage/lab/internal/object"},
	"stage/lab/controllers/internal/kinds":       {},
	"stage/lab/controllers/internal/lists":       {},
	"stage/lab/controllers/internal/reads":       {"stage/lab/controllers/features", "stage/lab/internal/object"},
	"stage/lab/controllers/internal/pods":        {"stage/lab/controllers/internal/conditions", "stage/lab/controllers/internal/control", "stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/lab/controllers/internal/selectors", "stage/reconcile", "stage/lab/internal/object"},
	"stage/lab/controllers/internal/selectors":   {"stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/reconcile", "stage/lab/internal/object"},
	"stage/lab/controllers/internal/storage":     {"stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/lab/controllers/resources", "stage/reconcile", "stage/lab/internal/object"},
	"stage/lab/controllers/features":             {},
	"stage/lab/controllers/kubelet":              {"stage/lab/controllers/internal/conditions", "stage/lab/controllers/internal/control", "stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/lab/controllers/internal/pods", "stage/lab/controllers/nodes", "stage/reconcile"},
	"stage/lab/controllers/namespaces":           {"stage/lab/controllers/internal/control", "stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/reconcile", "stage/transport"},
	"stage/lab/controllers/nodes":                {"stage/lab/controllers/internal/conditions", "stage/lab/controllers/internal/control", "stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/lab/controllers/internal/pods", "stage/reconcile", "stage/lab/internal/object"},
	"stage/lab/controllers/quota":                {"stage/lab/controllers/internal/control", "stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/memory", "stage/reconcile", "stage/lab/internal/object"},
	"stage/lab/controllers/resources":            {"stage/lab/internal/object"},
	"stage/lab/controllers/scheduling":           {"stage/lab/controllers/internal/conditions", "stage/lab/controllers/internal/control", "stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/lab/controllers/internal/pods", "stage/lab/controllers/internal/selectors", "stage/lab/controllers/internal/storage", "stage/lab/controllers/resources", "stage/reconcile", "stage/lab/internal/object"},
	"stage/lab/controllers/services":             {"stage/transport", "stage/lab/controllers/internal/conditions", "stage/lab/controllers/internal/control", "stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/lab/controllers/internal/pods", "stage/lab/controllers/internal/selectors", "stage/reconcile", "stage/lab/internal/object"},
	"stage/lab/controllers/volumes":              {"stage/lab/controllers/internal/control", "stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/lab/controllers/internal/pods", "stage/lab/controllers/internal/selectors", "stage/lab/controllers/internal/storage", "stage/reconcile", "stage/lab/internal/object"},
	"stage/lab/controllers/workloads":            {"stage/lab/controllers/internal/conditions", "stage/lab/controllers/internal/control", "stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/lab/controllers/internal/lists", "stage/lab/controllers/internal/pods", "stage/lab/controllers/internal/selectors", "stage/lab/controllers/scheduling", "stage/reconcile", "stage/lab/internal/object"},
	"stage/lab/apiserver":                        {"stage/lab/controllers/admission", "stage/lab/controllers/features", "stage/lab/controllers/namespaces", "stage/lab/internal/strict", "stage/lab/apiserver/internal/addresses", "stage/lab/apiserver/internal/apiservices", "stage/lab/apiserver/internal/attributes", "stage/lab/apiserver/internal/certificates", "stage/lab/apiserver/internal/podaccounts", "stage/lab/apiserver/internal/policies", "stage/lab/apiserver/internal/rules", "stage/lab/apiserver/internal/webhooks", "stage/lab/defaults", "stage/lab/definitions", "stage/lab/definitions/validity", "stage/lab/validation", "stage/memory", "stage/lab/containers", "stage/lab/apiserver/internal/streams", "stage/lab/controllers/roles", "stage/lab/controllers/services", "stage/lab/apiserver/internal/rbac", "stage/lab/apiserver/internal/tokens", "stage/lab/internal/object"},
	"stage/lab/apiserver/hunting":                {"stage/lab/apiserver", "stage/lab/hunt", "stage/lab/labtest"},
	"stage/lab/apiserver/internal/addresses":     {"stage/memory"},
	"stage/lab/apiserver/internal/apiservices":   {"stage/memory"},
	"stage/lab/apiserver/internal/attributes":    {"stage/memory"},
	"stage/lab/apiserver/internal/certificates":  {"stage/lab/apiserver/internal/attributes", "stage/memory"},
	"stage/lab/apiserver/internal/podaccounts":   {"stage/memory"},
	"stage/lab/apiserver/internal/policies":      {"stage/lab/apiserver/internal/attributes", "stage/lab/apiserver/internal/rules", "stage/memory"},
	"stage/lab/apiserver/internal/rbac":          {"stage/lab/apiserver/internal/attributes", "stage/memory"},
	"stage/lab/apiserver/internal/rules":         {"stage/lab/internal/celpatterns"},
	"stage/lab/apiserver/internal/streams":       {"stage/lab/containers"},
	"stage/lab/apiserver/internal/tokens":        {},
	"stage/lab/apiserver/internal/webhooks":      {"stage/lab/apiserver/internal/attributes", "stage/lab/apiserver/internal/rules", "stage/memory"},
	"stage/lab/containers":                       {"stage/memory", "stage/lab/containers/internal/amount", "stage/lab/internal/object"},
	"stage/lab/containers/internal/amount":       {},
	"stage/lab/containers/kwok":                  {"stage/lab/containers", "stage/lab/containers/internal/amount"},
	"stage/lab/controllers/certificates":         {"stage/lab/controllers/internal/control", "stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/reconcile"},
	"stage/lab/controllers/roles":                {"stage/lab/controllers/internal/control", "stage/lab/controllers/internal/fields", "stage/lab/controllers/internal/kinds", "stage/lab/controllers/internal/selectors", "stage/lab/internal/object", "stage/reconcile", "stage/transport"},
	"stage/lab/definitions":                      {"stage/lab/definitions/internal/form", "stage/memory", "stage/lab/internal/celpatterns", "stage/lab/internal/object"},
	"stage/lab/definitions/internal/form":        {},
	"stage/lab/definitions/validity":             {"stage/lab/definitions", "stage/lab/definitions/internal/form", "stage/memory"},
	"stage/lab/envtest":                          {"stage/lab/apiserver", "stage/lab/labtest", "stage/memory", "stage/lab/internal/files"},
	"stage/lab/envtest/assets":                   {"stage/lab/envtest"},
	"stage/lab/fakes/ctrlruntime":                {"stage/lab/fakes/internal/server", "stage/lab/hunt", "stage/memory", "stage/reconcile"},
	"stage/lab/fakes/internal/server":            {"stage/memory"},
	"stage/lab/gomega":                           {"kstatus", "kstatus/kstatustest"},
	"stage/lab/internal/files":                   {},
	"stage/lab/internal/house":                   {},
	"stage/lab/internal/object":                  {},
	"stage/lab/internal/printable":               {},
	"stage/lab/internal/harnesses":               {},
	"stage/lab/internal/schedules":               {},
	"stage/lab/internal/simulated":               {},
	"stage/lab/labtest":                          {"stage/lab/backup", "kstatus", "kstatus/kstatustest", "stage", "stage/lab/controllers", "stage/lab/controllers/admission", "stage/lab/controllers/autoscaling", "stage/lab/controllers/features", "stage/lab/controllers/kubelet", "stage/lab/controllers/nodes", "stage/lab/defaults", "stage/lab/definitions", "stage/lab/internal/object", "stage/lab/internal/strict", "stage/lab/validation", "stage/memory", "stage/presets", "stage/reconcile", "stage/simulation", "stage/lab/containers"},
}

// budgets are the largest numbers of packages outside the standard library that a package may link,
// including packages of this repository.
var budgets = map[string]int{"stage": 180, "selector": 165, "delay": 165, "kstatus": 70, "kstatus/wait": 75, "staged": 150, "stage/memory": 75}

// modules are the directories of the core and the lab, and what their packages may import.
var modules = map[string]map[string][]string{".": coreMayImport, "stage/lab": labMayImport}

func TestImportsPointDown(t *testing.T) {
	for dir, mayImport := range modules {
		for _, p := range own(t, dir) {
			if p.Name == "stagecraft" {
				continue
			}
			allowed, known := mayImport[p.rel()]
			require.True(t, known, "%s has no place in the table", p.rel())
			for _, dep := range p.Imports {
				if rest, ours := strings.CutPrefix(dep, module); ours {
					require.Contains(t, allowed, rest, "%s imports %s", p.rel(), rest)
				}
			}
		}
	}
}

// TestTheTableIsNotWider checks that the tables list only packages that exist and imports that are used.
func TestTheTableIsNotWider(t *testing.T) {
	for dir, mayImport := range modules {
		packages := list(t, dir)
		for name, allowed := range mayImport {
			p, exists := packages[module+name]
			require.True(t, exists, name)
			for _, dep := range allowed {
				require.Contains(t, p.Imports, module+dep, name)
			}
		}
	}
}

// TestTheCoreKnowsNoLab checks that the core imports nothing of the lab, in tests neither.
func TestTheCoreKnowsNoLab(t *testing.T) {
	for _, p := range own(t, ".") {
		for _, imports := range [][]string{p.Imports, p.TestImports, p.XTestImports} {
			for _, dep := range imports {
				require.False(t, strings.HasPrefix(dep+"/", module+"stage/lab/"), "%s imports %s", p.rel(), dep)
			}
		}
	}
}

func TestPackageBudgets(t *testing.T) {
	for name, budget := range budgets {
		links := linked(list(t, "."), module+name)
		t.Logf("%s links %d of %d packages", name, len(links), budget)
		require.LessOrEqual(t, len(links), budget, name)
	}
}

func TestHeavyPackagesStayOut(t *testing.T) {
	for _, heavy := range []string{"k8s.io/api/core/v1", "k8s.io/client-go/kubernetes", "k8s.io/apimachinery/pkg/util/strategicpatch", "k8s.io/apimachinery/pkg/util/managedfields", "gonum.org/v1/plot"} {
		require.NotContains(t, list(t, "."), heavy)
	}
}
