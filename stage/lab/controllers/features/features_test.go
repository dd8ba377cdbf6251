package features_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/features"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

const page = "../../FEATURES.md"

// TestPage checks that FEATURES.md is what the table says. With UPDATE=1 the test writes the page.
func TestPage(t *testing.T) {
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(page, []byte(features.Markdown()), 0o644))
	}
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.True(t, features.Markdown() == string(text), "FEATURES.md is not what the table says: run cd stage/lab && UPDATE=1 go test ./controllers/features, and read git diff")
}

// TestModelledRowsNameTheirTests checks that the tests exist.
func TestModelledRowsNameTheirTests(t *testing.T) {
	out, err := exec.Command("grep", "-rhoE", "--include=*_test.go", `^func Test[A-Za-z0-9_]+`, "../..", "../../../memory").Output()
	require.NoError(t, err)
	tests := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		tests[strings.TrimPrefix(strings.TrimSpace(line), "func ")] = true
	}
	seen := map[string]bool{}
	for _, k := range features.Kinds() {
		for _, row := range k.Rows {
			at := k.Kind + " " + row.Path
			require.False(t, seen[k.GroupVersionKind.String()+at], "two rows: %s", at)
			seen[k.GroupVersionKind.String()+at] = true
			require.NotEmpty(t, row.Feature, at)
			require.Equal(t, row.State == features.Modelled || row.Also != "", row.Test != "", at)
			require.True(t, row.Test == "" || tests[row.Test], "%s: %s does not exist", at, row.Test)
		}
	}
	for _, p := range slices.Concat(features.Controllers(), features.AdmissionPlugins()) {
		require.NotEmpty(t, p.Feature, p.Name)
		require.Equal(t, p.State == features.Modelled, p.Test != "", p.Name)
		require.True(t, p.Test == "" || tests[p.Test], "%s: %s does not exist", p.Name, p.Test)
	}
}

// TestMissingPartsAreReported checks that an object which needs a missing controller or plugin is
// reported: each part names the rows for it.
func TestMissingPartsAreReported(t *testing.T) {
	reported := map[string]bool{}
	for _, k := range features.Kinds() {
		for _, row := range k.Rows {
			reported[strings.TrimSpace(k.Kind+" "+row.Path)] = row.State == features.Reported
		}
	}
	for _, p := range slices.Concat(features.Controllers(), features.AdmissionPlugins()) {
		require.Equal(t, p.State == features.Reported, len(p.Uses) > 0, p.Name)
		for _, use := range p.Uses {
			require.True(t, reported[use], "%s: the use of %s is not reported", p.Name, use)
		}
	}
}

// shownElsewhere are the tests of rows in packages that do not record reads.
var shownElsewhere = map[string]string{
	"TestADefinitionMakesItsKindsKnownAndTakesThemAway": "stage/memory reads definitions",
	"TestANamespaceGoesWithItsLastObject":               "stage/memory ends Namespaces",
	"TestAnEvictionSpendsTheBudget":                     "stage/memory carries Evictions out",
	"TestEvictions":                                     "stage/memory carries Evictions out",
	"TestDefinitionsAct":                                "package definitions decodes definitions into their Go types",
	"TestConversionsComeInParts":                        "package definitions and the library of the webhooks read it",
	"TestColumnsAndWarningsOfADefinition":               "the server reads definitions",
	"TestMutatingPoliciesChangeObjects":                 "the server decodes policies into their Go types",
	"TestPoliciesDecide":                                "the server decodes policies into their Go types",
	"TestWebhooksOfAManager":                            "the server decodes configurations into their Go types",
	"TestRolesDecide":                                   "the server decodes roles into their Go types",
	"TestTokensInSecrets":                               "the server reads Secrets and signs tokens",
	"TestCertificatesAreSigned":                         "the server decodes requests into their Go types",
	"TestAddressesOfServices":                           "package defaults and the server keep addresses",
	"TestAttach":                                        "package containers reads what a client asks for",
	"TestUpdatesAreRefused":                             "package validation reads what is stored",
	"TestPodsAreBoundAndEvicted":                        "the server and stage/memory carry out what is not stored",
	"TestWorkloadsAreScaled":                            "the server and stage/memory carry out what is not stored",
	"TestTokensOfServiceAccounts":                       "the server answers what is not stored",
	"TestImpersonation":                                 "the server answers what is not stored",
	"TestServiceAccountsOfPods":                         "the server decodes Pods into their Go type",
	"TestReviewsOfAccess":                               "the server answers what is not stored",
}

// TestReadsOfRowsAreRecorded checks that the test of each row that is read runs in a package where
// package reads compares reads with the table.
func TestReadsOfRowsAreRecorded(t *testing.T) {
	recorded := map[string]bool{}
	dirs, err := filepath.Glob("../*/reads_test.go")
	require.NoError(t, err)
	for _, main := range append(dirs, "../reads_test.go") {
		files, err := filepath.Glob(filepath.Dir(main) + "/*_test.go")
		require.NoError(t, err)
		for _, name := range files {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(|"(Test\w+)"\)\) }$`).FindAllStringSubmatch(string(text), -1) {
				recorded[m[1]+m[2]] = true
			}
		}
	}
	elsewhere := map[string]bool{}
	for _, k := range features.Kinds() {
		for _, row := range k.Rows {
			if row.Test != "" && !recorded[row.Test] {
				require.NotEmpty(t, shownElsewhere[row.Test], "%s %s: %s records no reads", k.Kind, row.Path, row.Test)
				elsewhere[row.Test] = true
			}
		}
	}
	require.Len(t, elsewhere, len(shownElsewhere))
}

func observe(t *testing.T, r *features.Report, text string, isNew bool) {
	obj := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &obj.Object))
	r.Observe(obj.GroupVersionKind(), obj, isNew)
}

func TestUsesAreCounted(t *testing.T) {
	var traced []string
	r := features.NewReport(features.Options{Trace: func(u features.Use) { traced = append(traced, u.String()) }})
	observe(t, r, `{apiVersion: v1, kind: Pod, metadata: {namespace: a, name: x, uid: x}, spec: {schedulingGroup: {podGroupName: g}, serviceAccountName: default}}`, true)
	observe(t, r, `{apiVersion: v1, kind: Pod, metadata: {namespace: a, name: y, uid: y}, spec: {schedulingGroup: {podGroupName: g}}}`, true)
	observe(t, r, `{apiVersion: v1, kind: Pod, metadata: {namespace: a, name: y, uid: y, generation: 2}, spec: {schedulingGroup: {podGroupName: g}}}`, false)
	observe(t, r, `{apiVersion: v1, kind: Pod, metadata: {namespace: a, name: z, uid: z}, spec: {containers: [{}, {resources: {claims: [{name: gpu}]}}]}}`, true)
	var uses []string
	for _, u := range r.Uses() {
		uses = append(uses, u.String())
	}
	require.Equal(t, []string{
		"Pod spec.containers[].resources.claims: not modelled: dynamic resource allocation (1 object a/z)",
		"Pod spec.schedulingGroup: not modelled: Pods that are scheduled together (2 objects, first a/x)",
	}, uses)
	require.Len(t, traced, 2)
}

// A default of the API server and an empty value have no effect.
func TestDefaultsAreNoUse(t *testing.T) {
	r := features.NewReport(features.Options{})
	observe(t, r, `{apiVersion: v1, kind: Service, metadata: {name: s, uid: s},
  spec: {ipFamilies: [IPv4], ipFamilyPolicy: SingleStack, allocateLoadBalancerNodePorts: true, loadBalancerIP: ""}}`, true)
	observe(t, r, `{apiVersion: batch/v1, kind: Job, metadata: {name: j, uid: j}, spec: {manualSelector: false}}`, true)
	require.Empty(t, r.Uses())
}

// Without its controller, no program writes the status of a kind, unless Stages do.
func TestKindsWithoutTheirController(t *testing.T) {
	deployment := `{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, uid: d}}`
	for played, want := range map[bool]int{false: 1, true: 0} {
		r := features.NewReport(features.Options{Controllers: []string{"job"}, Played: func(schema.GroupVersionKind) bool { return played }})
		observe(t, r, deployment, true)
		require.Len(t, r.Uses(), want)
	}
	all := features.NewReport(features.Options{})
	observe(t, all, deployment, true)
	require.Empty(t, all.Uses())
}

func TestWatch(t *testing.T) {
	sim, err := simulation.New(stage.MustCompile(presets.PodFast()), simulation.Options{})
	require.NoError(t, err)
	r := features.NewReport(features.Options{})
	require.NoError(t, r.Watch(sim.On))
	for i := range 3 {
		pod := fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: p%d}, spec: {schedulingGroup: {podGroupName: g}}}`, i)
		require.NoError(t, sim.Cluster().Load(t.Context(), []byte(pod)))
	}
	require.NoError(t, sim.Advance(t.Context(), time.Minute))
	require.Len(t, r.Uses(), 1)
	require.Equal(t, 3, r.Uses()[0].Count)
}
