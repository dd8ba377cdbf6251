package main

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	root   = "../../.."
	prefix = "github.com/stagecraft-go/stagecraft"
)

// maxModules bounds the output of go list -m all for a program that uses package stage alone.
const maxModules = 90

// An outsider is somebody else's machine: it gets our modules from a proxy directory, the others
// from the usual proxy.
type outsider struct {
	version string // of all modules of the checkout
	proxy   string // directory
	env     []string
}

// outside packs the checkout as a version that depends on its content, so that a module cache never
// has a stale version. The caches of modules and builds are the usual ones: modules of other
// projects are neither downloaded nor compiled again.
func outside(t *testing.T) outsider {
	t.Helper()
	c, err := read(root)
	require.NoError(t, err)
	version := "v0.0.1-test." + contentHash(t, c)
	forget(t, version)
	dir := t.TempDir()
	o := outsider{version: version, proxy: dir}
	o.publish(t, c, versions{"core": version, "lab": version})
	proxy := "file://" + filepath.ToSlash(dir) + "," + strings.TrimSuffix(goEnv(t, "GOPROXY"), ",direct")
	o.env = append(os.Environ(), "GOPROXY="+proxy, "GONOSUMDB="+prefix, "GOPRIVATE=", "GONOPROXY=", "GOWORK=off", "GOFLAGS=")
	return o
}

// publish packs versions of a checkout into the proxy.
func (o outsider) publish(t *testing.T, c *checkout, v versions) {
	t.Helper()
	zips, err := c.pack(v)
	require.NoError(t, err)
	require.NoError(t, writeProxy(o.proxy, zips))
}

func contentHash(t *testing.T, c *checkout) string {
	t.Helper()
	h := sha256.New()
	for _, name := range c.files {
		data, err := os.ReadFile(filepath.Join(c.root, name))
		require.NoError(t, err)
		h.Write([]byte(name + "\x00"))
		h.Write(data)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// forget deletes test versions from the module cache that are an hour old, except this one. Another
// run could be using younger versions.
func forget(t *testing.T, except string) {
	t.Helper()
	cache := goEnv(t, "GOMODCACHE")
	var old []string
	for _, at := range []string{filepath.Join(cache, prefix), filepath.Join(cache, "cache/download", prefix), filepath.Dir(filepath.Join(cache, prefix))} {
		_ = filepath.WalkDir(at, func(name string, d fs.DirEntry, err error) error {
			if err != nil || !strings.Contains(name, "v0.0.1-test.") {
				return nil
			}
			if info, err := d.Info(); err == nil && !strings.Contains(name, except) && time.Since(info.ModTime()) > time.Hour {
				old = append(old, name)
			}
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		})
	}
	for _, name := range old {
		_ = filepath.WalkDir(name, func(name string, d fs.DirEntry, err error) error { return os.Chmod(name, 0o755) }) // the cache is read-only
		require.NoError(t, os.RemoveAll(name))
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// run runs the go command in a directory and returns its output.
func (o outsider) run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, o.env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	started := time.Now()
	out, err := cmd.Output()
	require.NoError(t, err, "go %s\n%s%s", strings.Join(args, " "), out, &stderr)
	t.Logf("%5.1fs go %s", time.Since(started).Seconds(), strings.Join(args, " "))
	return string(out)
}

// program makes a module of one file of testdata and gets its imports.
func (o outsider) program(t *testing.T, name string, modules ...string) string {
	t.Helper()
	dir := t.TempDir()
	o.run(t, dir, "mod", "init", "example.com/"+name)
	text, err := os.ReadFile(filepath.Join("testdata", name, "main.go"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), text, 0o644))
	args := []string{"get"}
	for _, m := range modules {
		args = append(args, m+"@"+o.version)
	}
	o.run(t, dir, args...)
	o.run(t, dir, "mod", "tidy")
	return dir
}

// modulePaths are the paths of all published modules.
func modulePaths() (all []string) {
	for _, p := range published {
		all = append(all, strings.TrimSuffix(prefix+"/"+p.dir, "/."))
	}
	return all
}

func TestOutsiders(t *testing.T) {
	o, all := outside(t), modulePaths()
	t.Run("each module alone", func(t *testing.T) {
		for _, m := range all {
			dir := t.TempDir()
			o.run(t, dir, "mod", "init", "example.com/alone")
			o.run(t, dir, "get", m+"@"+o.version)
			require.NotContains(t, o.run(t, dir, "list", "-m", "all"), "=>", m)
		}
	})
	t.Run("package stage", func(t *testing.T) {
		dir := o.program(t, "stages", prefix)
		modules := strings.Count(o.run(t, dir, "list", "-m", "all"), "\n")
		t.Logf("a program that uses package stage alone has %d modules", modules)
		require.LessOrEqual(t, modules, maxModules)
	})
	t.Run("all modules", func(t *testing.T) {
		dir := o.program(t, "consumer", all...)
		o.run(t, dir, "vet", ".")
		require.Contains(t, o.run(t, dir, "run", "."), "consumer: done")
	})
	t.Run("examples", func(t *testing.T) {
		object := filepath.Join(t.TempDir(), "claim.yaml")
		text := `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {volumeName: a}, status: {phase: Bound}}`
		require.NoError(t, os.WriteFile(object, []byte(text), 0o644))
		for _, args := range [][]string{
			{"readiness", object}, {"lifecycle"}, {"stagecraft", "explain", "--preset", "volumes", "--object", object}, {"rollout"}, {"simulator", "-study", "gpu", "-pods", "2", "-nodes", "3"},
		} {
			args = slices.Concat([]string{"run", prefix + "/examples/" + args[0] + "@" + o.version}, args[1:])
			require.NotEmpty(t, o.run(t, t.TempDir(), args...))
		}
	})
}

// TestEachSetIsUpgradedAlone: a user of both sets upgrades one of them. The next core has all of
// its internal packages at other paths, so a lab that used one of them would not build.
func TestEachSetIsUpgradedAlone(t *testing.T) {
	o := outside(t)
	next := strings.Replace(o.version, "v0.0.1-", "v0.0.2-", 1)
	c, err := read(withOtherInternals(t))
	require.NoError(t, err)
	forget(t, next)
	o.publish(t, c, versions{"core": next})
	c, err = read(root)
	require.NoError(t, err)
	o.publish(t, c, versions{"core": o.version, "lab": next})

	lab := prefix + "/stage/lab"
	for name, upgraded := range map[string][]string{"core": {prefix, prefix + "/stage/kube", prefix + "/kstatus/cliutils"}, "lab": {lab}} {
		t.Run(name, func(t *testing.T) {
			dir := o.program(t, "consumer", modulePaths()...)
			for _, m := range upgraded {
				o.run(t, dir, "get", m+"@"+next)
			}
			listed := o.run(t, dir, "list", "-m", prefix, lab)
			want := map[string]string{"core": prefix + " " + next + "\n" + lab + " " + o.version + "\n", "lab": prefix + " " + o.version + "\n" + lab + " " + next + "\n"}
			require.Equal(t, want[name], listed)
			o.run(t, dir, "build", "./...")
		})
	}
}

// withOtherInternals returns a copy of the checkout in which the internal packages of the root are at
// other paths.
func withOtherInternals(t *testing.T) string {
	t.Helper()
	c, err := read(root)
	require.NoError(t, err)
	dir := t.TempDir()
	const before, after = prefix + "/internal/", prefix + "/internal/moved/"
	for _, name := range c.files {
		data, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		if c.owner(name).set == "core" && strings.HasSuffix(name, ".go") {
			data = []byte(strings.ReplaceAll(string(data), before, after))
		}
		if rest, isInternal := strings.CutPrefix(name, "internal/"); isInternal {
			name = "internal/moved/" + rest
		}
		at := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(t, os.WriteFile(at, data, 0o644))
	}
	return dir
}
