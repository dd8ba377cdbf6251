package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// unpublished are the modules outside internal/dev that users do not get: examples to read in a
// clone.
var unpublished = []string{"examples/cluster", "examples/testing", "examples/stagecraft/packaging"}

func TestEveryModuleIsAccountedFor(t *testing.T) {
	c, err := read(root)
	require.NoError(t, err)
	dependabot, err := os.ReadFile(root + "/.github/dependabot.yml")
	require.NoError(t, err)
	for _, m := range c.modules {
		require.Contains(t, string(dependabot), "- /"+strings.TrimPrefix(m.dir, ".")+"\n")
		known := m.published() || strings.HasPrefix(m.dir, "internal/dev/") || m.dir == "internal/house" || strings.HasPrefix(m.dir, "stage/lab/internal/") || slices.Contains(unpublished, m.dir)
		require.True(t, known, "module %s is neither published nor for development", m.dir)
		require.Equal(t, strings.TrimSuffix(prefix+"/"+m.dir, "/."), m.path())
	}
}

// floor is the newest version that published modules may require of these modules. It is the
// version of users who are two minor versions behind.
var floor = map[string]string{
	"k8s.io/api": "v0.35", "k8s.io/apimachinery": "v0.35", "k8s.io/client-go": "v0.35", "k8s.io/apiextensions-apiserver": "v0.35",
	"sigs.k8s.io/controller-runtime": "v0.23",
}

// above are modules with a higher floor, because of cli-utils.
var above = map[string]map[string]string{"kstatus/cliutils": {
	"k8s.io/api": "v0.36", "k8s.io/apimachinery": "v0.36", "k8s.io/client-go": "v0.36", "k8s.io/apiextensions-apiserver": "v0.36",
	"sigs.k8s.io/controller-runtime": "v0.24",
}}

func TestKubernetesFloor(t *testing.T) {
	c, err := read(root)
	require.NoError(t, err)
	for _, m := range c.modules {
		floor := floor
		if own, ok := above[m.dir]; ok {
			floor = own
		}
		for _, r := range m.mod.Require {
			if most, bound := floor[r.Mod.Path]; bound && m.published() {
				require.LessOrEqual(t, semver.Compare(semver.MajorMinor(r.Mod.Version), most), 0, "%s requires %s", m.dir, r.Mod)
			}
		}
	}
}

// TestPack checks the content of a proxy: requirements on our modules at that version, no replace
// lines, a license, and no nested modules.
func TestPack(t *testing.T) {
	c, err := read(root)
	require.NoError(t, err)
	zips, err := c.pack(versions{"core": "v0.1.0", "lab": "v0.1.0"})
	require.NoError(t, err)
	require.Len(t, zips, len(published))
	for _, p := range zips {
		mod, err := modfile.Parse("go.mod", p.mod, nil)
		require.NoError(t, err)
		require.Empty(t, mod.Replace, p.path)
		for _, r := range mod.Require {
			require.True(t, !strings.HasPrefix(r.Mod.Path, prefix) || r.Mod.Version == "v0.1.0", "%s requires %s", p.path, r.Mod)
		}
		files := unzip(t, p)
		require.Equal(t, string(p.mod), files["go.mod"])
		require.NotEmpty(t, files["LICENSE"], p.path)
		for name := range files {
			require.False(t, strings.HasSuffix(name, "/go.mod"), "%s: %s", p.path, name)
		}
	}
}

// TestRelease goes to a version and back in a copy of the go.mod files.
func TestRelease(t *testing.T) {
	c, err := read(root)
	require.NoError(t, err)
	dir := t.TempDir()
	before := map[string]string{}
	for _, name := range c.files {
		if base := filepath.Base(name); base == "go.mod" || base == "go.sum" || base == "LICENSE" {
			data, err := os.ReadFile(filepath.Join(root, name))
			require.NoError(t, err)
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
			before[name] = string(data)
		}
	}
	var out bytes.Buffer
	require.NoError(t, run([]string{"-root", dir, "-core", "v1.0.0", "-lab", "v0.1.0"}, &out))
	require.Equal(t, `commit this, then tag and push:
  git tag v1.0.0
  git tag stage/lab/v0.1.0
  git tag stage/kube/v1.0.0
  git tag examples/simulator/v0.1.0
  git tag examples/stagecraft/v0.1.0
  git tag kstatus/cliutils/v1.0.0
  git tag kstatus/argolua/v1.0.0
`, out.String())
	kube, err := os.ReadFile(filepath.Join(dir, "stage/kube/go.mod"))
	require.NoError(t, err)
	require.Contains(t, string(kube), prefix+" v1.0.0\n")
	require.NotContains(t, string(kube), "=>")
	sum, err := os.ReadFile(filepath.Join(dir, "stage/kube/go.sum"))
	require.NoError(t, err)
	require.Contains(t, string(sum), prefix+" v1.0.0 h1:")
	require.Contains(t, string(sum), prefix+" v1.0.0/go.mod h1:")

	require.NoError(t, run([]string{"-root", dir, "-dev"}, &out))
	for name, text := range before {
		after, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, text, string(after), "%s: bring it into the order in which go run . -dev writes it", name)
	}
}

func TestArguments(t *testing.T) {
	for _, args := range [][]string{{}, {"-lab", "v0.1.0"}, {"-core", "0.1.0"}, {"-core", "v1"}, {"-core", "v2.0.0"}, {"-core", "v1.0.0", "-lab", "v2.0.0"}, {"-dev", "-core", "v0.1.0"}, {"-core", "v0.1.0", "x"}} {
		require.Error(t, run(append([]string{"-root", root}, args...), io.Discard), args)
	}
}
