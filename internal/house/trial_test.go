package house_test

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A trial is a change of the repository that its tests make on a copy of the files that it touches. The go
// command takes the copies for the files.
type trial struct {
	overlay  string            // a file for the go command; "" changes nothing
	replaced map[string]string // copies by the paths of the files
}

// patchedFile matches the name of a file that a patch changes.
var patchedFile = regexp.MustCompile(`(?m)^--- a/(\S+)$`)

// newTrial applies a patch of testdata. More are files of testdata that it adds, by their place.
func newTrial(t *testing.T, patch string, more map[string]string) trial {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("internal/house/testdata", patch))
	require.NoError(t, err)
	root, err := os.Getwd()
	require.NoError(t, err)
	dir, replaced := t.TempDir(), map[string]string{}
	add := func(name, from string) {
		content, err := os.ReadFile(from)
		require.NoError(t, err)
		copied := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(copied), 0o755))
		require.NoError(t, os.WriteFile(copied, content, 0o600))
		replaced[filepath.Join(root, name)] = copied
	}
	for _, m := range patchedFile.FindAllStringSubmatch(string(text), -1) {
		add(m[1], m[1])
	}
	for name, from := range more {
		add(name, filepath.Join("internal/house/testdata", from))
	}
	apply := exec.Command("git", "apply", "-")
	apply.Dir, apply.Stdin = dir, strings.NewReader(string(text))
	out, err := apply.CombinedOutput()
	require.NoError(t, err, "internal/house/testdata/%s does not apply to the files as you changed them: make its change by hand in a clone, and replace the patch by the output of git diff\n%s", patch, out)
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	require.NoError(t, err)
	x := trial{overlay: filepath.Join(dir, "overlay.json"), replaced: replaced}
	require.NoError(t, os.WriteFile(x.overlay, overlay, 0o600))
	return x
}

// flags are flags of the go command.
func (x trial) flags() []string {
	if x.overlay == "" {
		return nil
	}
	return []string{"-overlay", x.overlay}
}

// file returns the file to read for a file of the repository.
func (x trial) file(path string) string { return cmp.Or(x.replaced[path], path) }

// run runs the go command in a directory of the repository with the change.
func (x trial) run(dir, command string, args ...string) (string, error) {
	cmd := exec.Command("go", slices.Concat([]string{command}, x.flags(), args)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestAFieldOfTheDelayIsShownEverywhere adds a minimum to the delay, in the types and in the
// package that decides. It checks that all packages that show delays use the minimum, without a
// change in them.
func TestAFieldOfTheDelayIsShownEverywhere(t *testing.T) {
	const program = "stage/lab/internal/house/minimum/main.go"
	x := newTrial(t, "minimum.patch", map[string]string{program: "minimum.go.txt"})
	out, err := x.run("stage/lab", "run", "./internal/house/minimum")
	require.NoError(t, err, out)
	require.Equal(t, `lint: minimumMilliseconds: 300: the jitter is the upper bound of the delay, not added to it: where both fields count, the delay is 300 ms, not 500 or more
explain: delay 1m0s: duration 500ms from spec.delay.durationMilliseconds; minimum, the lower bound, 1m0s from spec.delay.minimumMilliseconds
extension: delay 1m0s + exponential (mean 1s): duration 500ms from spec.delay.durationMilliseconds; exponential (mean 1s) added from metadata.annotations["stagecraft-go.github.io/delay"]; minimum, the lower bound, 1m0s from spec.delay.minimumMilliseconds
explore: ready 1m → 1
diagram: after 1m
fit: 1m0s
fitted: delay quantiles (p50 1m0s, p90 1m0s): duration 0s from spec.delay.durationMilliseconds; quantiles (p50 1m0s, p90 1m0s) added from metadata.annotations["stagecraft-go.github.io/delay"]
`, out)
}

// TestAFieldOfTheDelayThatIsReadTwiceIsFound makes the diagram also read the minimum.
func TestAFieldOfTheDelayThatIsReadTwiceIsFound(t *testing.T) {
	x := newTrial(t, "minimum-read-twice.patch", nil)
	packages := exportedIn(t, ".", x.flags(), "./stage/diagram")
	read := stageReads(t, packages, newImporter(packages), x)
	require.True(t, slices.ContainsFunc(read["stage/diagram"], func(r string) bool { return strings.HasPrefix(r, "StageDelay.MinimumMilliseconds ") }))
}

// TestAFieldThatAControllerReadsIsInTheTable has the Deployment controller read a field that the table of
// features does not have.
func TestAFieldThatAControllerReadsIsInTheTable(t *testing.T) {
	x := newTrial(t, "deployment-field.patch", nil)
	out, err := x.run("stage/lab", "test", "./controllers/workloads", "-run", "^TestADeploymentRollsOut$")
	require.Error(t, err)
	require.Contains(t, out, "PASS\nFAIL: workloads.readDeployment (deployment.go:")
	require.Contains(t, out, ") reads spec.podReplacementPolicy of a Deployment: package features has no row for it\n")
	require.Contains(t, out, "UPDATE=1 go test ./controllers/features", "the advice")
}
