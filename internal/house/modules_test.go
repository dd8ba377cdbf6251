package house_test

import (
	"encoding/json"
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

// TestModulesOfTheNewestLibrariesShareThem checks that the modules which use the newest Kubernetes libraries require the
// same versions of whatever two of them require. A library that differs is compiled once more, with all that import it:
// client-go takes a minute of a processor.
func TestModulesOfTheNewestLibrariesShareThem(t *testing.T) {
	first := map[string]string{} // version and directory, by module
	for _, dir := range []string{"examples/cluster", "examples/testing", "internal/dev/bench", "internal/dev/celrules", "internal/dev/e2e"} {
		cmd := exec.Command("go", "mod", "edit", "-json")
		cmd.Dir = dir
		out, err := cmd.Output()
		require.NoError(t, err, dir)
		var file struct {
			Require []struct{ Path, Version string }
		}
		require.NoError(t, json.Unmarshal(out, &file))
		for _, r := range file.Require {
			before, version, known := strings.Cut(first[r.Path], " ")
			if !known {
				first[r.Path] = dir + " " + r.Version
			} else if version != r.Version {
				t.Errorf("%s requires %s %s, %s requires %s: require the newer one in both", dir, r.Path, r.Version, before, version)
			}
		}
	}
}
