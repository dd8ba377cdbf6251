package main

import (
	"bytes"
	"cmp"
	_ "embed" // published.txt
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

//go:embed published.txt
var publishedText string

// published are the modules that users get. A module comes after our modules that it requires.
// internal/house and .ci/matrix read the same list.
var published = parsePublished(publishedText)

// A publication is a module that users get. All modules of a set, "core" or "lab", have one version.
type publication struct{ set, dir string }

func parsePublished(text string) (all []publication) {
	for line := range strings.Lines(text) {
		set, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		all = append(all, publication{set, dir})
	}
	return all
}

// versions are the versions of the sets to release, such as "core": "v1.2.0". No module of the core
// requires the lab, so the core can be released alone.
type versions map[string]string

// releases reports whether a module gets a version.
func (v versions) releases(m *module) bool { return v[m.set] != "" }

// devVersion is the version that our modules require of each other between releases; replace lines
// point to the modules.
const devVersion = "v0.0.0"

// A checkout is the modules of a directory tree, published ones first. It must not be used from
// several goroutines at once.
type checkout struct {
	root    string
	modules []*module
	files   []string // of the whole tree, as slash-separated paths from the root
}

// A module is one go.mod file and the go.sum file in its directory.
type module struct {
	dir string // slash-separated, from the root
	set string // of the publication; "" for a module that is not published
	mod *modfile.File
	sum []string // lines
}

func (m *module) published() bool { return m.set != "" }

func (m *module) path() string { return m.mod.Module.Mod.Path }

// tag returns the tag by which the go command finds a version of the module.
func (m *module) tag(version string) string { return path.Join(m.dir, version) }

// read reads the modules of a checkout.
func read(root string) (*checkout, error) {
	files, err := list(root)
	if err != nil {
		return nil, err
	}
	c := &checkout{root: root, files: files}
	all := slices.Clone(published)
	for _, file := range files {
		dir := path.Dir(file)
		isPublished := slices.ContainsFunc(published, func(p publication) bool { return p.dir == dir })
		if path.Base(file) == "go.mod" && !isPublished {
			all = append(all, publication{dir: dir})
		}
	}
	for _, p := range all {
		m, err := readModule(root, p.dir)
		if err != nil {
			return nil, err
		}
		m.set = p.set
		c.modules = append(c.modules, m)
	}
	return c, nil
}

func readModule(root, dir string) (*module, error) {
	name := filepath.Join(root, dir, "go.mod")
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	mod, err := modfile.Parse(name, data, nil)
	if err != nil {
		return nil, err
	}
	sum, err := os.ReadFile(filepath.Join(root, dir, "go.sum"))
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return &module{dir: dir, mod: mod, sum: slices.Collect(strings.Lines(string(sum)))}, nil
}

// list returns the files that git knows or would add. Without git it returns all files.
func list(root string) ([]string, error) {
	cmd := exec.Command("git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	out, err := cmd.Output()
	if err != nil {
		return walk(root)
	}
	var files []string
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if _, err := os.Lstat(filepath.Join(root, name)); err == nil { // else it was deleted and that is not committed
			files = append(files, name)
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

func walk(root string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		if rel, err := filepath.Rel(root, name); err == nil && d.Type().IsRegular() {
			files = append(files, filepath.ToSlash(rel))
		}
		return nil
	})
	return files, err
}

// module returns our module with that path, or nil.
func (c *checkout) module(path string) *module {
	i := slices.IndexFunc(c.modules, func(m *module) bool { return m.path() == path })
	if i < 0 {
		return nil
	}
	return c.modules[i]
}

// set makes all modules require our modules at their versions. Released modules lose their replace
// lines; the others keep them.
func (c *checkout) set(v versions) error {
	for _, m := range c.modules {
		m.sum = slices.DeleteFunc(m.sum, func(line string) bool { return c.module(strings.Fields(line)[0]) != nil })
		for _, r := range m.mod.Require {
			dependency := c.module(r.Mod.Path)
			if dependency == nil || !dependency.published() {
				continue
			}
			if err := m.require(dependency, v); err != nil {
				return err
			}
		}
		m.mod.Cleanup()
	}
	return nil
}

func (m *module) require(dependency *module, v versions) error {
	if err := m.mod.AddRequire(dependency.path(), cmp.Or(v[dependency.set], devVersion)); err != nil {
		return err
	}
	if v.releases(m) {
		return m.mod.DropReplace(dependency.path(), "")
	}
	rel, err := filepath.Rel(filepath.FromSlash(m.dir), filepath.FromSlash(dependency.dir))
	if err != nil {
		return err
	}
	return m.mod.AddReplace(dependency.path(), "", filepath.ToSlash(rel), "")
}

// develop undoes a release.
func (c *checkout) develop() error {
	if err := c.set(nil); err != nil {
		return err
	}
	return c.write()
}

// write writes the go.mod and go.sum files that differ from the files on disk.
func (c *checkout) write() error {
	for _, m := range c.modules {
		for name, data := range m.texts() {
			file := filepath.Join(c.root, m.dir, name)
			if was, err := os.ReadFile(file); err == nil && bytes.Equal(was, data) || err != nil && len(data) == 0 {
				continue
			}
			if err := os.WriteFile(file, data, 0o644); err != nil {
				return fmt.Errorf("module %s: %w", m.dir, err)
			}
		}
	}
	return nil
}

// texts returns the new go.mod and go.sum files.
func (m *module) texts() map[string][]byte {
	return map[string][]byte{"go.mod": modfile.Format(m.mod.Syntax), "go.sum": []byte(strings.Join(m.sum, ""))}
}
