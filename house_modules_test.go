package stagecraft_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// published returns the directories of the modules that users get with go get, the root first.
func published(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("internal/dev/release/published.txt")
	require.NoError(t, err)
	return strings.Fields(string(text))
}

// TestNestedModulesUseThePublicAPI holds that a module which is not the root imports no internal
// package of another one, in tests neither: two versions would drift apart. What only developers
// run, in internal/dev, is excepted.
func TestNestedModulesUseThePublicAPI(t *testing.T) {
	touchSources(t)
	for _, dir := range append(published(t)[1:], "examples/testing", "examples/cluster") {
		cmd := exec.Command("go", "list", "-f", `{{$p := .ImportPath}}{{range .Imports}}{{$p}} {{.}}
{{end}}{{range .TestImports}}{{$p}} {{.}}
{{end}}{{range .XTestImports}}{{$p}} {{.}}
{{end}}`, "./...")
		cmd.Dir = dir
		out, err := cmd.Output()
		require.NoError(t, err, dir)
		for line := range strings.Lines(string(out)) {
			importer, imported, _ := strings.Cut(strings.TrimSpace(line), " ")
			own := strings.HasPrefix(imported, module+dir+"/")
			controlPlane := dir == "examples/cluster" && strings.HasPrefix(imported, module+"internal/dev/e2e/") // it is not published
			if isInternal(imported) && !own && !controlPlane {
				t.Errorf("%s imports %s", importer, imported)
			}
		}
	}
}
