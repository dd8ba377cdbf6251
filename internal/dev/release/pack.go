package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	xmodule "golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

// A packed is one published module at a version, as a proxy serves it.
type packed struct {
	path, version string
	mod, zip      []byte
}

// pack sets the versions in memory, packs the modules that are released, and adds their checksums
// to the go.sum files of the modules that require them.
func (c *checkout) pack(v versions) ([]packed, error) {
	if err := c.set(v); err != nil {
		return nil, err
	}
	var all []packed
	for _, m := range c.modules {
		if !v.releases(m) {
			continue
		}
		if len(m.mod.Replace) > 0 {
			return nil, fmt.Errorf("module %s: replace of %s: go run and go install refuse a version with it", m.path(), m.mod.Replace[0].Old.Path)
		}
		p, err := c.packModule(m, v[m.set])
		if err != nil {
			return nil, fmt.Errorf("module %s: %w", m.path(), err)
		}
		all = append(all, p)
		if err := c.addSums(p, v); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (c *checkout) packModule(m *module, version string) (packed, error) {
	var b bytes.Buffer
	err := zip.Create(&b, xmodule.Version{Path: m.path(), Version: version}, c.contents(m))
	return packed{path: m.path(), version: version, mod: m.texts()["go.mod"], zip: b.Bytes()}, err
}

// contents returns the files of a module: package zip leaves out the files of nested modules. A
// module without a license gets the license of the root, as in the go command.
func (c *checkout) contents(m *module) []zip.File {
	texts := m.texts()
	var files []zip.File
	for _, name := range c.files {
		rel, within := strings.CutPrefix("./"+name, "./"+strings.TrimPrefix(m.dir+"/", "./"))
		if !within {
			continue
		}
		f := file{path: rel, disk: filepath.Join(c.root, name)}
		if text, ours := texts[rel]; ours {
			f.text = text
			delete(texts, rel)
		}
		files = append(files, f)
	}
	if len(texts["go.sum"]) > 0 {
		files = append(files, file{path: "go.sum", disk: filepath.Join(c.root, m.dir, "go.mod"), text: texts["go.sum"]})
	}
	if !slices.ContainsFunc(files, func(f zip.File) bool { return f.Path() == "LICENSE" }) {
		files = append(files, file{path: "LICENSE", disk: filepath.Join(c.root, "LICENSE")})
	}
	return files
}

// addSums adds the checksums of a packed module to the modules that require it and have no replace
// line for it.
func (c *checkout) addSums(p packed, v versions) error {
	open := func(data []byte) func(string) (io.ReadCloser, error) {
		return func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	}
	modSum, err := dirhash.Hash1([]string{"go.mod"}, open(p.mod))
	if err != nil {
		return err
	}
	zipSum, err := hashZip(p.zip)
	if err != nil {
		return err
	}
	for _, m := range c.modules {
		for _, r := range m.mod.Require {
			if v.releases(m) && r.Mod.Path == p.path {
				at, _ := slices.BinarySearchFunc(m.sum, p.path, func(line, path string) int { return strings.Compare(strings.Fields(line)[0], path) })
				m.sum = slices.Insert(m.sum, at, fmt.Sprintf("%s %s %s\n", p.path, p.version, zipSum), fmt.Sprintf("%s %s/go.mod %s\n", p.path, p.version, modSum))
			}
		}
	}
	return nil
}

func hashZip(data []byte) (string, error) {
	f, err := os.CreateTemp("", "*.zip")
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		return "", err
	}
	return dirhash.HashZip(f.Name(), dirhash.Hash1)
}

// writeProxy writes modules to a directory for GOPROXY=file://DIR. Versions that are
// there already stay.
func writeProxy(dir string, modules []packed) error {
	for _, m := range modules {
		escaped, err := xmodule.EscapePath(m.path)
		if err != nil {
			return err
		}
		at := filepath.Join(dir, filepath.FromSlash(escaped), "@v")
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		versions, err := os.ReadFile(filepath.Join(at, "list"))
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		if !slices.Contains(strings.Fields(string(versions)), m.version) {
			versions = append(versions, m.version+"\n"...)
		}
		info := fmt.Appendf(nil, "{%q:%q}\n", "Version", m.version)
		for name, data := range map[string][]byte{"list": versions, m.version + ".info": info, m.version + ".mod": m.mod, m.version + ".zip": m.zip} {
			if err := os.WriteFile(filepath.Join(at, name), data, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// A file is one of a module: that on the disk, or a text instead of it.
type file struct {
	path, disk string
	text       []byte
}

func (f file) Path() string { return f.path }

func (f file) Lstat() (fs.FileInfo, error) {
	on, err := os.Lstat(f.disk)
	if err != nil || f.text == nil {
		return on, err
	}
	return info{on, f}, nil
}

func (f file) Open() (io.ReadCloser, error) {
	if f.text != nil {
		return io.NopCloser(bytes.NewReader(f.text)), nil
	}
	return os.Open(f.disk)
}

// An info reports the size of the text instead of the size of the file on the disk.
type info struct {
	fs.FileInfo
	of file
}

func (i info) Name() string       { return filepath.Base(i.of.path) }
func (i info) Size() int64        { return int64(len(i.of.text)) }
func (i info) ModTime() time.Time { return time.Time{} }
