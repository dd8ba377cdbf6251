package house_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// usages are the loops that package comments and comments of types tell users to write: the file,
// how the code begins, and the variables that it takes as given.
var usages = []struct{ file, begins, given string }{
	{"stage/doc.go", "source, err := stage.Load(", "obj *unstructured.Unstructured, now time.Time, seed uint64"},
	{"stage/engine.go", "for at, ok := e.NextDue()", "e *stage.Engine, now time.Time, objects map[stage.Key]*unstructured.Unstructured"},
	{"stage/player/doc.go", "set, err := stage.Compile(", "ctx context.Context, source stage.Source, cluster *memory.Cluster"},
	{"stage/memory/doc.go", "cluster := memory.New(", "ctx context.Context, yaml []byte, pods schema.GroupVersionKind"},
	{"stage/simulation/simulation.go", "sim, err := simulation.New(", "ctx context.Context, set *stage.Set, pod *unstructured.Unstructured, gvk schema.GroupVersionKind, name types.NamespacedName"},
	{"stage/lab/controllers/doc.go", "set, err := stage.Compile(", "ctx context.Context, manifests []byte"},
	{"stage/lab/controllers/doc.go", "all := controllers.All(", "ctx context.Context, cluster transport.Transport"},
	{"stage/reconcile/doc.go", "loop := reconcile.NewLoop(", "ctx context.Context, cluster *memory.Cluster, greeter reconcile.Controller, now time.Time"},
	{"stage/lab/controllers/kubelet/doc.go", "loop := reconcile.NewLoop(", "cluster *memory.Cluster"},
	{"stage/lab/controllers/workloads/doc.go", "loop := reconcile.NewLoop(", "cluster *memory.Cluster"},
	{"stage/explore/doc.go", "graph, err := explore.Explore(", "ctx context.Context, set *stage.Set, pod *unstructured.Unstructured"},
	{"stage/lint/lint.go", "source, err := stage.Load(", ""},
	{"stage/lab/fit/doc.go", "result, err := fit.Fit(", "file io.Reader"},
	{"stage/lab/backup/doc.go", "b, err := backup.From(", "ctx context.Context, cluster *memory.Cluster, t *testing.T"},
	{"stage/lab/backup/doc.go", "err := backup.Of(", "lab *labtest.Lab, file io.ReadWriter"},
	{"stage/lab/labtest/doc.go", "lab := labtest.New(t, labtest.Options{})", "t *testing.T, manifests string"},
	{"render/doc.go", "t, err := render.Compile(", "patch struct{ Template string }, objects iter.Seq[map[string]any], now time.Time, seed uint64"},
	{"kstatus/doc.go", "r := kstatus.Compute(", "obj *unstructured.Unstructured"},
	{"kstatus/doc.go", "rules := kstatus.Extended()", "obj *unstructured.Unstructured, now time.Time, widget kstatus.Rule"},
	{"kstatus/doc.go", "r, children, err := rules.Inspect(", "ctx context.Context, rules *kstatus.Rules, reader kstatus.Reader, obj *unstructured.Unstructured, now time.Time"},
	{"kstatus/wait/doc.go", "err := wait.For(", "ctx context.Context, cluster *memory.Cluster, refs []wait.Ref"},
	{"kstatus/celrule/doc.go", "rules, err := celrule.Parse(", "data []byte, obj *unstructured.Unstructured, now time.Time"},
	{"staged/doc.go", "policies, err := staged.Compile(", "text []byte, stored stagedv1.StagedBindingPolicy, world fleet.World"},
	{"staged/player/doc.go", "err := player.Play(", "ctx context.Context, cluster *memory.Cluster"},
	{"staged/rehearse/doc.go", "timeline, err := rehearse.Run(", "ctx context.Context, policy stagedv1.StagedBindingPolicy, aggregator control.StatusCollector, deployment *unstructured.Unstructured, set *stage.Set"},
}

// usageImports are the packages by the names that usages have for them.
var usageImports = map[string]string{
	"context": "context", "errors": "errors", "fmt": "fmt", "io": "io", "iter": "iter", "os": "os", "testing": "testing", "time": "time",
	"metav1": "k8s.io/apimachinery/pkg/apis/meta/v1", "unstructured": "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured",
	"schema": "k8s.io/apimachinery/pkg/runtime/schema", "types": "k8s.io/apimachinery/pkg/types",
	"bindingpolicy": module + "staged/bindingpolicy", "celrule": module + "kstatus/celrule", "fleet": module + "staged/fleet", "control": module + "staged/control", "controllers": module + "stage/lab/controllers",
	"backup": module + "stage/lab/backup", "explore": module + "stage/explore", "fit": module + "stage/lab/fit", "kstatus": module + "kstatus", "lint": module + "stage/lint",
	"transport": module + "stage/transport", "kubelet": module + "stage/lab/controllers/kubelet", "workloads": module + "stage/lab/controllers/workloads",
	"memory": module + "stage/memory", "nodes": module + "stage/lab/controllers/nodes", "presets": module + "stage/presets",
	"reconcile": module + "stage/reconcile", "record": module + "stage/lab/record", "rehearse": module + "staged/rehearse",
	"render": module + "render", "simulation": module + "stage/simulation", "stage": module + "stage", "staged": module + "staged",
	"stagedv1": module + "staged/v1alpha1", "labtest": module + "stage/lab/labtest", "wait": module + "kstatus/wait",
}

// TestUsagesInCommentsCompile compiles the code that comments tell users to write. Where a comment
// leaves something out (…), the test leaves it out; variables that are not used are no fault.
func TestUsagesInCommentsCompile(t *testing.T) {
	for _, dir := range []string{".", "stage/lab"} {
		compileUsages(t, dir)
	}
}

// compileUsages compiles the code in comments that belongs to the module in a directory.
func compileUsages(t *testing.T, dir string) {
	root, err := filepath.Abs(dir)
	require.NoError(t, err)
	temp, replace, places := t.TempDir(), map[string]string{}, map[string]string{}
	for i, u := range usages {
		if inLab := strings.HasPrefix(u.file, "stage/lab/"); inLab != (dir != ".") {
			continue
		}
		name := fmt.Sprintf("usage%d.go", i)
		file := filepath.Join(temp, name)
		require.NoError(t, os.WriteFile(file, []byte(usageProgram(t, i, u.file, u.begins, u.given)), 0o644))
		replace[filepath.Join(root, "internal/usages", name)], places[name] = file, u.file+": "+u.begins
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(temp, "overlay.json"), overlay, 0o644))
	cmd := exec.Command("go", "build", "-gcflags=-e", "-overlay", filepath.Join(temp, "overlay.json"), "./internal/usages")
	cmd.Dir = root
	out, _ := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "#") || strings.Contains(line, "declared and not used") {
			continue
		}
		for name, place := range places {
			line = strings.ReplaceAll(line, name+":", name+" ("+place+"):")
		}
		t.Error(line)
	}
}

var comments = regexp.MustCompile(`//.*`)

// usageProgram returns a file with one function that has the code.
func usageProgram(t *testing.T, i int, file, begins, given string) string {
	code := usageIn(t, file, begins)
	imports := map[string]bool{}
	for _, m := range regexp.MustCompile(`\b([a-z0-9]+)\.[A-Z]`).FindAllStringSubmatch(given+"\n"+comments.ReplaceAllString(code, ""), -1) {
		path := usageImports[m[1]]
		if m[1] == "player" {
			if path = module + "stage/player"; strings.HasPrefix(file, "staged/") {
				path = module + "staged/player"
			}
		}
		if path != "" {
			imports[m[1]+` "`+path+`"`] = true
		}
	}
	return fmt.Sprintf("package usages\n\nimport (\n%s\n)\n\nfunc usage%d(%s) error {\n%s\nreturn nil\n}\n",
		strings.Join(slices.Sorted(maps.Keys(imports)), "\n"), i, given, code)
}

// usageIn returns the code of a comment, without the "…" of left-out parts.
func usageIn(t *testing.T, file, begins string) string {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "//\t"+begins)
	require.True(t, found, "%s has no %q", file, begins)
	code := begins
	for n, line := range strings.Split(rest, "\n") {
		if line = strings.TrimPrefix(line, "//"); n > 0 && line != "" && !strings.HasPrefix(line, "\t") {
			break
		}
		code += line + "\n"
	}
	code = regexp.MustCompile(`(?m)^\s*(…|\.\.\.)\s*(//.*)?$`).ReplaceAllString(code, "")
	return strings.ReplaceAll(code, "{ … }", "{}")
}
