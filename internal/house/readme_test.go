package house_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// TestReadmeProgramsBuild builds every Go program of the README as a package of the core, or of the
// lab if it imports the lab. It runs programs that are tests.
func TestReadmeProgramsBuild(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(readme), "\n"), 150)
	programs := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(readme, -1)
	require.NotEmpty(t, programs)
	for i, program := range programs {
		dir := fmt.Sprintf("internal/readme%d", i)
		if strings.Contains(string(program[1]), "_test\n") {
			binary := build(t, program[1], dir, "program_test.go", "test", "-c", "-vet=off")
			run(t, binary, "-test.v")
		} else {
			build(t, program[1], dir, "program.go", "build")
		}
	}
}

// TestReadmeNamesEveryModule checks that the section on installing has each module that users
// import.
func TestReadmeNamesEveryModule(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, dir := range published(t) {
		if !strings.HasPrefix(dir, "examples/") {
			require.Contains(t, string(readme), "go get "+strings.TrimSuffix(module+dir, "/.")+" ")
		}
	}
}

// TestReadmeNamesEveryPackage checks that the table of packages has each public package: by its
// path, or below a path with "and below". The types of APIs are left out.
func TestReadmeNamesEveryPackage(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(readme), "\n## Packages\n")
	table, _, _ = strings.Cut(table, "\n## ")
	for _, p := range slices.Concat(own(t, "."), own(t, "stage/lab")) {
		rel := p.rel()
		if isInternal(p.ImportPath) || p.Name == "main" || p.Name == "stagecraft" || p.Name == "lab" || path.Base(rel) == "v1alpha1" {
			continue
		}
		named := strings.Contains(table, "`"+rel+"`")
		for above := path.Dir(rel); above != "." && !named; above = path.Dir(above) {
			named = strings.Contains(table, "`"+above+"` and below")
		}
		require.True(t, named, "%s is not in the table of README.md", rel)
	}
}

// TestDocNamesEveryPackage checks that the map of the module in doc.go has all public packages: by
// path or, below another one, by name.
func TestDocNamesEveryPackage(t *testing.T) {
	for _, dir := range []string{".", "stage/lab"} {
		text, err := os.ReadFile(filepath.Join(dir, "doc.go"))
		require.NoError(t, err)
		named := strings.FieldsFunc(string(text), func(r rune) bool { return strings.ContainsRune(" \n[]:;,./", r) })
		for _, p := range own(t, dir) {
			if !isInternal(p.ImportPath) && p.Name != "main" && p.Name != "stagecraft" {
				require.True(t, slices.Contains(named, path.Base(p.ImportPath)), "%s is not in %s/doc.go", p.ImportPath, dir)
			}
		}
	}
}

// moduleOf returns the directory of the module in which a program builds: that of the lab if it imports
// the lab.
func moduleOf(source string) string {
	if strings.Contains(source, module+"stage/lab") {
		return "stage/lab"
	}
	return "."
}

// build builds one file as a package of the module that it needs, in a folder that does not exist, and
// returns the program.
func build(t *testing.T, source []byte, dir, name string, verb ...string) string {
	t.Helper()
	root, err := filepath.Abs(moduleOf(string(source)))
	require.NoError(t, err)
	temp := t.TempDir()
	file, overlay, binary := filepath.Join(temp, name), filepath.Join(temp, "overlay.json"), filepath.Join(temp, "program")
	require.NoError(t, os.WriteFile(file, source, 0o644))
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, dir, name): file}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, replace, 0o644))
	cmd := exec.Command("go", append(verb, "-overlay", overlay, "-o", binary, "./"+dir)...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return binary
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	require.NoError(t, err, string(out))
}

// readiness are the cases of the table of examples/readiness.
var readiness = []struct{ name, object string }{
	{"Service LoadBalancer without an address", `{apiVersion: v1, kind: Service, spec: {type: LoadBalancer, clusterIP: 10.0.0.1}, status: {loadBalancer: {}}}`},
	{"Pod that cannot pull its image", `{apiVersion: v1, kind: Pod, status: {phase: Pending,
  containerStatuses: [{name: app, state: {waiting: {reason: ImagePullBackOff, message: Back-off pulling image}}}]}}`},
	{"Pod that failed", `{apiVersion: v1, kind: Pod, status: {phase: Failed, reason: Evicted, message: The node was low on memory}}`},
	{"Job that runs", `{apiVersion: batch/v1, kind: Job, spec: {completions: 3}, status: {startTime: "2026-01-01T00:00:00Z", active: 1, succeeded: 2}}`},
	{"APIService without endpoints", `{apiVersion: apiregistration.k8s.io/v1, kind: APIService,
  status: {conditions: [{type: Available, status: "False", reason: MissingEndpoints, message: no endpoints}]}}`},
	{"custom resource without a status", `{apiVersion: example.com/v1, kind: Widget, spec: {}}`},
	{"Certificate that cannot be issued", `{apiVersion: cert-manager.io/v1, kind: Certificate,
  status: {conditions: [{type: Ready, status: "False", reason: Expired, message: expired yesterday}]}}`},
	{"Argo Rollout that is degraded", `{apiVersion: argoproj.io/v1alpha1, kind: Rollout, status: {phase: Degraded, message: timed out}}`},
	{"Kueue Workload without quota", `{apiVersion: kueue.x-k8s.io/v1beta1, kind: Workload,
  status: {conditions: [{type: QuotaReserved, status: "False", reason: Pending, message: not enough cpu}]}}`},
	{"RayCluster without its workers", `{apiVersion: ray.io/v1, kind: RayCluster, status: {state: "", desiredWorkerReplicas: 2, readyWorkerReplicas: 1}}`},
}

func TestReadinessTableIsTrue(t *testing.T) {
	readme, err := os.ReadFile("examples/readiness/README.md")
	require.NoError(t, err)
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	for _, c := range readiness {
		obj := &unstructured.Unstructured{}
		raw, err := yaml.YAMLToJSON([]byte(c.object))
		require.NoError(t, err)
		require.NoError(t, obj.UnmarshalJSON(raw))
		row := fmt.Sprintf("| %s | %s | %s |\n", c.name, kstatus.Standard().Compute(obj, now).Status, kstatus.Extended().Compute(obj, now))
		require.Contains(t, string(readme), row)
	}
}
