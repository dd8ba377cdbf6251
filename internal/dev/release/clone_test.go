package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAReleaseFromStartToEnd follows CONTRIBUTING.md in a scratch repository: versions, commit, tags, and back
// to development. Then the lab is released alone, and a core that has changed is not.
func TestAReleaseFromStartToEnd(t *testing.T) {
	o := outside(t)
	dir := scratch(t)
	git(t, dir, "branch", "development")

	tags := o.release(t, dir, o.version, o.version)
	require.Len(t, tags, len(published))
	for _, p := range published {
		o.run(t, filepath.Join(dir, p.dir), "list", "-deps", "./...") // -mod=readonly: go.mod and go.sum are complete
	}
	require.NoError(t, run([]string{"-root", dir, "-dev"}, &bytes.Buffer{}))
	commit(t, dir, "release: back to development")
	require.Empty(t, git(t, dir, "diff", "development"))

	change(t, dir, "stage/lab/labtest/doc.go")
	tags = o.release(t, dir, o.version, strings.Replace(o.version, "v0.0.1-", "v0.0.2-", 1))
	require.Len(t, tags, 3, "the modules of the set lab")
	for _, tag := range tags {
		require.Contains(t, tag, "/v0.0.2-")
	}

	change(t, dir, "stage/doc.go")
	err := run([]string{"-root", dir, "-core", o.version}, &bytes.Buffer{})
	require.ErrorContains(t, err, o.version+" is tagged, and 1 files of the module have changed since, such as stage/doc.go")
}

// release makes a release in a scratch repository, with its tags, and publishes it.
func (o outsider) release(t *testing.T, dir, core, lab string) (tags []string) {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, run([]string{"-root", dir, "-core", core, "-lab", lab}, &out))
	commit(t, dir, "release: "+core)
	for line := range strings.Lines(out.String()) {
		if tag, is := strings.CutPrefix(strings.TrimSpace(line), "git tag "); is {
			git(t, dir, "tag", tag)
			tags = append(tags, tag)
		}
	}
	require.NoError(t, run([]string{"-root", dir, "-core", core, "-lab", lab, "-proxy", o.proxy}, &bytes.Buffer{}))
	return tags
}

// scratch returns a separate repository with the files of the checkout.
func scratch(t *testing.T) string {
	t.Helper()
	c, err := read(root)
	require.NoError(t, err)
	dir := t.TempDir()
	for _, name := range c.files {
		data, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	git(t, dir, "init", "-q")
	commit(t, dir, "the checkout")
	return dir
}

func change(t *testing.T, dir, name string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), append(data, "\n// Changed.\n"...), 0o644))
	commit(t, dir, "change "+name)
}

func commit(t *testing.T, dir, message string) {
	t.Helper()
	git(t, dir, "add", "-A")
	git(t, dir, "-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "-q", "--allow-empty", "-m", message)
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	require.NoError(t, err, "git %v: %s", args, out)
	return string(out)
}
