package main

import (
	"bytes"
	"fmt"
	"go/format"
	"go/types"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/exp/apidiff"
	"golang.org/x/tools/go/packages"
)

// apiPackages are the packages whose API must not break without a line in the changelog.
var apiPackages = []string{"stage", "selector", "delay", "render", "stage/player"}

// apiFile is the file with the API of a package in the last version.
func apiFile(pkg string) string {
	return filepath.Join("testdata", "api", strings.ReplaceAll(pkg, "/", "_")+".go")
}

// recordAPI writes the API of the checkout into the files that later versions are compared with.
func recordAPI(root string) error {
	loaded, err := loadAPI(root, nil, apiPackages...)
	if err != nil {
		return err
	}
	for _, pkg := range apiPackages {
		text, err := surface(loaded[pkg])
		if err != nil {
			return err
		}
		if err := os.WriteFile(apiFile(pkg), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// breaks returns the incompatible changes of a package compared with the API in text: package.Name,
// and the difference.
func breaks(root, pkg string, text []byte, now *types.Package) (found [][2]string, err error) {
	overlay, err := inPlaceOf(root, pkg, text)
	if err != nil {
		return nil, err
	}
	before, err := loadAPI(root, overlay, pkg)
	if err != nil {
		return nil, err
	}
	for _, c := range apidiff.Changes(before[pkg], now).Changes {
		if name, what, _ := strings.Cut(c.Message, ": "); !c.Compatible {
			found = append(found, [2]string{path.Base(pkg) + "." + name, what})
		}
	}
	return found, nil
}

// inPlaceOf returns an overlay in which a package has one file with this text.
func inPlaceOf(root, pkg string, text []byte) (map[string][]byte, error) {
	dir, err := filepath.Abs(filepath.Join(root, pkg))
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	overlay := map[string][]byte{}
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			overlay[file] = []byte("package " + path.Base(pkg) + "\n")
		}
	}
	overlay[filepath.Join(dir, "doc.go")] = text
	return overlay, nil
}

// loadAPI type-checks packages of a checkout and returns them by their directories.
func loadAPI(root string, overlay map[string][]byte, pkgs ...string) (map[string]*types.Package, error) {
	var patterns []string
	for _, pkg := range pkgs {
		patterns = append(patterns, "./"+pkg)
	}
	loaded, err := packages.Load(&packages.Config{Dir: root, Overlay: overlay, Env: append(os.Environ(), "GOWORK=off"),
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedExportFile}, patterns...)
	if err != nil {
		return nil, err
	}
	byPath := map[string]*types.Package{}
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("%s: %w", p.PkgPath, p.Errors[0])
		}
		_, rel, _ := strings.Cut(p.PkgPath, "stagecraft-go/stagecraft/")
		byPath[rel] = p.Types
	}
	return byPath, nil
}

// surface returns the API of a package as a Go file without function bodies. One field replaces the
// fields that are not exported; it is comparable if all of them are.
func surface(pkg *types.Package) ([]byte, error) {
	s := &surfaceWriter{pkg: pkg, imports: map[string]string{}, seen: map[types.Object]bool{}}
	for _, name := range pkg.Scope().Names() {
		if obj := pkg.Scope().Lookup(name); obj.Exported() {
			s.object(obj)
		}
	}
	for len(s.pending) > 0 { // unexported types that exported types mention
		obj := s.pending[0]
		s.pending = s.pending[1:]
		s.object(obj)
	}
	var head bytes.Buffer
	fmt.Fprintf(&head, "package %s\n\n", pkg.Name())
	for _, at := range slices.Sorted(maps.Keys(s.imports)) {
		fmt.Fprintf(&head, "import %s %q\n", s.imports[at], at)
	}
	return format.Source(append(head.Bytes(), s.body.Bytes()...))
}

// A surfaceWriter prints the declarations of a package.
type surfaceWriter struct {
	pkg     *types.Package
	body    bytes.Buffer
	imports map[string]string // path to name
	seen    map[types.Object]bool
	pending []types.Object
}

func (s *surfaceWriter) printf(text string, args ...any) { fmt.Fprintf(&s.body, text, args...) }

func (s *surfaceWriter) object(obj types.Object) {
	if s.seen[obj] {
		return
	}
	s.seen[obj] = true
	switch obj := obj.(type) {
	case *types.Const:
		typ := s.typeOf(obj.Type())
		if basic, is := obj.Type().(*types.Basic); is && basic.Info()&types.IsUntyped != 0 {
			typ = ""
		}
		s.printf("\nconst %s %s = %s\n", obj.Name(), typ, obj.Val().ExactString())
	case *types.Var:
		s.printf("\nvar %s %s\n", obj.Name(), s.typeOf(obj.Type()))
	case *types.Func:
		s.function("", obj)
	case *types.TypeName:
		s.declareType(obj)
	}
}

func (s *surfaceWriter) declareType(obj *types.TypeName) {
	if obj.IsAlias() {
		s.printf("\ntype %s = %s\n", obj.Name(), s.typeOf(types.Unalias(obj.Type())))
		return
	}
	s.printf("\ntype %s %s\n", obj.Name(), s.typeOf(obj.Type().Underlying()))
	named, is := obj.Type().(*types.Named)
	if !is {
		return
	}
	for m := range named.Methods() {
		if m.Exported() || isSealing(named, m) {
			s.function(s.receiver(m), m)
		}
	}
}

// isSealing reports whether a method that is not exported makes its type implement an interface of the
// package.
func isSealing(named *types.Named, m *types.Func) bool {
	for _, name := range m.Pkg().Scope().Names() {
		face, is := m.Pkg().Scope().Lookup(name).Type().Underlying().(*types.Interface)
		if is && face.NumMethods() > 0 && (types.Implements(named, face) || types.Implements(types.NewPointer(named), face)) {
			for i := range face.NumMethods() {
				if face.Method(i).Id() == m.Id() {
					return true
				}
			}
		}
	}
	return false
}

func (s *surfaceWriter) receiver(m *types.Func) string {
	return "(" + s.typeOf(m.Signature().Recv().Type()) + ") "
}

func (s *surfaceWriter) function(receiver string, f *types.Func) {
	signature := strings.TrimPrefix(s.typeOf(f.Signature()), "func")
	s.printf("\nfunc %s%s%s { panic(0) }\n", receiver, f.Name(), signature)
}

// typeOf prints a type. Structs lose their unexported fields.
func (s *surfaceWriter) typeOf(t types.Type) string {
	if named, is := t.(*types.Named); is && named.Obj().Pkg() == s.pkg && !named.Obj().Exported() {
		s.pending = append(s.pending, named.Obj())
	}
	if st, is := t.(*types.Struct); is {
		return s.structOf(st)
	}
	s.mention(t)
	return types.TypeString(t, s.qualify)
}

// mention queues the types of the package that are not exported and that a type is made of.
func (s *surfaceWriter) mention(t types.Type) {
	for _, name := range s.pkg.Scope().Names() {
		obj, is := s.pkg.Scope().Lookup(name).(*types.TypeName)
		if is && !obj.Exported() && mentions(types.TypeString(t, s.qualify), name) {
			s.pending = append(s.pending, obj)
		}
	}
}

// mentions reports whether a type has a word in it.
func mentions(text, word string) bool {
	isLetter := func(r rune) bool {
		return r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
	}
	return slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return !isLetter(r) }), word)
}

func (s *surfaceWriter) structOf(st *types.Struct) string {
	var b strings.Builder
	b.WriteString("struct {\n")
	hides, compares := false, true
	for i := range st.NumFields() {
		f := st.Field(i)
		switch {
		case f.Embedded() && f.Exported():
			fmt.Fprintf(&b, "%s\n", s.typeOf(f.Type()))
		case f.Exported():
			fmt.Fprintf(&b, "%s %s\n", f.Name(), s.typeOf(f.Type()))
		default:
			hides, compares = true, compares && types.Comparable(f.Type())
		}
	}
	switch {
	case hides && compares:
		b.WriteString("_ struct{}\n")
	case hides:
		b.WriteString("_ [0]func()\n")
	}
	return b.String() + "}"
}

// qualify names a package in the file, and imports it.
func (s *surfaceWriter) qualify(p *types.Package) string {
	if p == s.pkg {
		return ""
	}
	name := p.Name()
	for at, taken := range s.imports {
		if taken == name && at != p.Path() {
			name = strings.NewReplacer("/", "_", ".", "_", "-", "_").Replace(p.Path())
		}
	}
	if s.imports[p.Path()] == "" {
		s.imports[p.Path()] = name
	}
	return s.imports[p.Path()]
}
