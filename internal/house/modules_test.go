package house_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// published returns the directories of the modules that users get with go get, the root first.
func published(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("internal/dev/release/published.txt")
	require.NoError(t, err)
	var dirs []string
	for line := range strings.Lines(string(text)) {
		_, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		dirs = append(dirs, dir)
	}
	return dirs
}

// TestNestedModulesUseThePublicAPI checks that a module which is not the root imports no internal package
// of another one: two versions would drift apart. Tests may use what only developers run, in internal/dev.
func TestNestedModulesUseThePublicAPI(t *testing.T) {
	for _, dir := range append(published(t)[1:], "examples/testing", "examples/cluster") {
		for _, p := range own(t, dir) {
			check := func(imports []string, ofTest bool) {
				for _, imported := range imports {
					own := strings.HasPrefix(imported, module+dir+"/")
					dev := strings.HasPrefix(imported, module+"internal/dev/") && (ofTest || dir == "examples/cluster") // it is not published
					if isInternal(imported) && !own && !dev {
						t.Errorf("%s imports %s", p.ImportPath, imported)
					}
				}
			}
			check(p.Imports, false)
			check(p.TestImports, true)
			check(p.XTestImports, true)
		}
	}
}
