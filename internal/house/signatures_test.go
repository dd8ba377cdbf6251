package house_test

import (
	"encoding/json"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSignaturesAreUsable checks that no exported signature of a public package mentions a type of
// an internal package. Users could neither name nor create such a type.
func TestSignaturesAreUsable(t *testing.T) {
	for _, dir := range published(t) {
		packages := exported(t, dir)
		imports := importerOf(t, dir)
		for _, path := range slices.Sorted(maps.Keys(packages)) {
			if p := packages[path]; p.DepOnly || p.Name == "main" || isInternal(path) {
				continue
			}
			pkg, err := imports.Import(path)
			require.NoError(t, err)
			for _, fault := range mentions(pkg) {
				t.Error(fault)
			}
		}
	}
}

// A compiled is a package with the file that the compiler wrote about it.
type compiled struct {
	ImportPath, Name, Export, Dir string
	DepOnly                       bool
	GoFiles, Deps                 []string
}

var importers = map[string]types.Importer{}

// importerOf returns an importer of what the compiler wrote about the packages of a module. Tests share it,
// as it keeps what it has read; they do not run in parallel.
func importerOf(t *testing.T, dir string) types.Importer {
	if importers[dir] == nil {
		importers[dir] = newImporter(exported(t, dir))
	}
	return importers[dir]
}

func newImporter(packages map[string]compiled) types.Importer {
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(packages[path].Export) })
}

// exported returns the packages of a module and all that they import, with the files that the
// compiler wrote about them.
func exported(t *testing.T, dir string) map[string]compiled {
	t.Helper()
	exports.Lock()
	defer exports.Unlock()
	if exports.of[dir] == nil {
		exports.of[dir] = exportedIn(t, dir, nil, "./...")
	}
	return exports.of[dir]
}

func exportedIn(t *testing.T, dir string, flags []string, patterns ...string) map[string]compiled {
	args := slices.Concat([]string{"list", "-export", "-deps", "-json=ImportPath,Name,Export,Dir,DepOnly,GoFiles,Deps"}, flags, patterns)
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err, dir)
	packages := map[string]compiled{}
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p compiled
		require.NoError(t, d.Decode(&p))
		packages[p.ImportPath] = p
	}
	return packages
}

var exports = struct {
	sync.Mutex
	of map[string]map[string]compiled
}{of: map[string]map[string]compiled{}}

// isInternal reports whether a package is an internal package of this repository.
func isInternal(path string) bool {
	return strings.HasPrefix(path, module) && slices.Contains(strings.Split(path, "/"), "internal")
}

// mentions lists the exported names of a package whose signatures mention an internal package.
func mentions(pkg *types.Package) []string {
	var faults []string
	for _, name := range pkg.Scope().Names() {
		if !token.IsExported(name) {
			continue
		}
		w := &signature{pkg: pkg, seen: map[types.Type]bool{}}
		w.object(pkg.Scope().Lookup(name))
		for _, found := range slices.Compact(slices.Sorted(slices.Values(w.found))) {
			faults = append(faults, fmt.Sprintf("%s.%s mentions %s", pkg.Path(), name, found))
		}
	}
	return faults
}

// A signature walks the types that a user of an exported name can reach without another exported
// name.
type signature struct {
	pkg   *types.Package
	seen  map[types.Type]bool
	found []string
}

func (s *signature) object(o types.Object) {
	name, ok := o.(*types.TypeName)
	if !ok {
		s.walk(o.Type())
		return
	}
	if alias, ok := name.Type().(*types.Alias); ok && name.IsAlias() {
		s.params(alias.TypeParams())
		s.walk(alias.Rhs())
		return
	}
	s.declared(name.Type().(*types.Named))
}

// declared walks the declaration of a type and its exported methods.
func (s *signature) declared(named *types.Named) {
	if s.seen[named] {
		return
	}
	s.seen[named] = true
	s.params(named.TypeParams())
	s.walk(named.Underlying())
	for m := range named.Methods() {
		if m.Exported() {
			s.walk(m.Type())
		}
	}
}

func (s *signature) params(list *types.TypeParamList) {
	for p := range list.TypeParams() {
		s.walk(p.Constraint())
	}
}

// walk walks a type as it is written in a signature.
func (s *signature) walk(t types.Type) {
	switch t := t.(type) {
	case *types.Named:
		s.name(t.Obj(), t.TypeArgs())
		if t.Obj().Pkg() == s.pkg && !t.Obj().Exported() { // its methods and fields are reached all the same
			s.declared(t.Origin())
		}
	case *types.Alias:
		s.name(t.Obj(), t.TypeArgs())
		if t.Obj().Pkg() == s.pkg && !t.Obj().Exported() {
			s.walk(t.Rhs())
		}
	case *types.Signature:
		s.params(t.TypeParams())
		s.walk(t.Params())
		s.walk(t.Results())
	case *types.Tuple:
		for v := range t.Variables() {
			s.walk(v.Type())
		}
	case *types.Map:
		s.walk(t.Key())
		s.walk(t.Elem())
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		s.walk(t.Elem())
	default:
		s.members(t)
	}
}

// members walks the exported and embedded members of a structure, an interface or a union.
func (s *signature) members(t types.Type) {
	switch t := t.(type) {
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() || f.Embedded() {
				s.walk(f.Type())
			}
		}
	case *types.Interface:
		for m := range t.ExplicitMethods() {
			if m.Exported() {
				s.walk(m.Type())
			}
		}
		for e := range t.EmbeddedTypes() {
			s.walk(e)
		}
	case *types.Union:
		for term := range t.Terms() {
			s.walk(term.Type())
		}
	}
}

// name notes a type of an internal package, and walks the arguments of a generic one.
func (s *signature) name(o *types.TypeName, args *types.TypeList) {
	if o.Pkg() != nil && isInternal(o.Pkg().Path()) {
		s.found = append(s.found, o.Pkg().Path()+"."+o.Name())
	}
	for arg := range args.Types() {
		s.walk(arg)
	}
}
