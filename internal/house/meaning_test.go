package house_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a selector, a delay and a weight of a Stage mean is decided in one package each. Other code asks
// that package. The tests below check that no other code reads the fields.

// stageTypes is the package of the API types of Stages.
const stageTypes = module + "stage/v1alpha1"

// deciding are the packages that decide. A field may be passed to a function of them.
var deciding = map[string]bool{
	"internal/parts": true, "selector": true, "delay": true,
	"internal/expression": true, // the expressions of all parts
}

// decidedElsewhere are the fields of a StageSpec that are not part of a selector, a delay or a
// weight.
var decidedElsewhere = []string{"ResourceRef", "Next", "Steps", "ImmediateNextStage"}

// mayRead are the fields that other packages read, and why. A field without a dot is its name in JSON, in
// a string.
var mayRead = map[string]map[string]string{
	"stage/lint": {"durationFrom": "advises to use the field"},
}

func TestOnePackageDecidesWhatAStageMeans(t *testing.T) {
	read := map[string][]string{}
	for _, dir := range []string{".", "stage/lab", "stage/kube"} {
		maps.Copy(read, stageReads(t, exported(t, dir), importerOf(t, dir), trial{}))
	}
	for pkg, all := range read {
		for _, r := range all {
			field, place, _ := strings.Cut(r, " ")
			if mayRead[pkg][field] == "" {
				t.Errorf("%s: %s reads %s; ask the package that decides what it means", place, pkg, field)
			}
		}
	}
	for pkg, fields := range mayRead {
		for field := range fields {
			require.True(t, slices.ContainsFunc(read[pkg], func(r string) bool { return strings.HasPrefix(r, field+" ") }), "%s does not read %s any more", pkg, field)
		}
	}
}

// stageReads returns the reads of fields in the packages of a module, by package: the field and the
// place. It leaves out the packages that decide and the package of the types.
func stageReads(t *testing.T, packages map[string]compiled, imports types.Importer, x trial) map[string][]string {
	t.Helper()
	files := token.NewFileSet()
	api, err := imports.Import(stageTypes)
	require.NoError(t, err)
	fields := newStageFields(t, api)
	read := map[string][]string{}
	for path, p := range packages {
		name := strings.TrimPrefix(path, module)
		if p.DepOnly || deciding[name] || path == stageTypes || !slices.Contains(p.Deps, stageTypes) {
			continue
		}
		r := &fieldReader{stageFields: fields, trial: x, files: files, info: types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}, Uses: map[*ast.Ident]types.Object{}}}
		r.read(t, p, imports)
		if len(r.found) > 0 {
			read[name] = r.found
		}
	}
	return read
}

// stageFields are the fields of the parts of a Stage that a package decides about.
type stageFields struct {
	names map[string]bool // such as StageDelay.DurationFrom
	json  []string        // the names in JSON that nothing else has
}

func newStageFields(t *testing.T, api *types.Package) stageFields {
	s := stageFields{names: map[string]bool{}}
	spec := api.Scope().Lookup("StageSpec").Type().Underlying().(*types.Struct)
	elsewhere := slices.Clone(decidedElsewhere)
	for f := range spec.Fields() {
		if i := slices.Index(elsewhere, f.Name()); i >= 0 {
			elsewhere = slices.Delete(elsewhere, i, i+1)
			continue
		}
		s.names["StageSpec."+f.Name()] = true
		s.below(f.Type())
	}
	require.Empty(t, elsewhere, "StageSpec does not have these fields")
	for _, name := range []string{"StageDelay", "StageSpec"} {
		def := api.Scope().Lookup(name).Type().Underlying().(*types.Struct)
		for i := range def.NumFields() {
			tag, _, _ := strings.Cut(reflect.StructTag(def.Tag(i)).Get("json"), ",")
			if s.names[name+"."+def.Field(i).Name()] && strings.ToLower(tag) != tag {
				s.json = append(s.json, tag)
			}
		}
	}
	return s
}

// below adds the fields of a type and of the types below it.
func (s stageFields) below(t types.Type) {
	switch t := t.(type) {
	case *types.Pointer:
		s.below(t.Elem())
	case *types.Slice:
		s.below(t.Elem())
	case *types.Named:
		def, ok := t.Underlying().(*types.Struct)
		if !ok || t.Obj().Pkg().Path() != stageTypes {
			return
		}
		for f := range def.Fields() {
			name := t.Obj().Name() + "." + f.Name()
			if !s.names[name] {
				s.names[name] = true
				s.below(f.Type())
			}
		}
	}
}

// A fieldReader finds the reads of one package.
type fieldReader struct {
	stageFields
	trial
	files   *token.FileSet
	info    types.Info
	written map[ast.Expr]bool // is assigned, or passed to a package that decides
	found   []string
}

func (r *fieldReader) read(t *testing.T, p compiled, imports types.Importer) {
	t.Helper()
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(r.files, r.file(filepath.Join(p.Dir, name)), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		parsed = append(parsed, file)
	}
	_, err := (&types.Config{Importer: imports}).Check(p.ImportPath, r.files, parsed, &r.info)
	require.NoError(t, err)
	r.written = map[ast.Expr]bool{}
	for _, file := range parsed {
		ast.Inspect(file, r.visit)
	}
}

// visit notes the reads in a node. It sees what surrounds an expression before the expression.
func (r *fieldReader) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok == token.ASSIGN {
			for _, target := range n.Lhs {
				r.isWritten(target)
			}
		}
	case *ast.CallExpr:
		if r.decides(n.Fun) {
			for _, arg := range n.Args {
				r.written[arg] = true
			}
		}
	case *ast.SelectorExpr:
		if field := r.field(n); field != "" && !r.written[n] {
			r.note(field, n.Sel.Pos())
		}
	case *ast.Field:
		return n.Tag == nil // no text
	case *ast.BasicLit:
		for _, name := range r.json {
			if n.Kind == token.STRING && strings.Contains(n.Value, name) {
				r.note(name, n.Pos())
				break
			}
		}
	}
	return true
}

func (r *fieldReader) note(field string, at token.Pos) {
	place := r.files.Position(at)
	r.found = append(r.found, fmt.Sprintf("%s %s:%d", field, place.Filename, place.Line))
}

// isWritten marks the fields on the way to the one that an assignment writes.
func (r *fieldReader) isWritten(target ast.Expr) {
	for {
		r.written[target] = true
		switch e := target.(type) {
		case *ast.SelectorExpr:
			target = e.X
		case *ast.IndexExpr:
			target = e.X
		case *ast.StarExpr:
			target = e.X
		case *ast.ParenExpr:
			target = e.X
		default:
			return
		}
	}
}

// decides reports whether a function is one of a package that decides.
func (r *fieldReader) decides(function ast.Expr) bool {
	s, ok := function.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	f := r.info.Uses[s.Sel]
	return f != nil && f.Pkg() != nil && deciding[strings.TrimPrefix(f.Pkg().Path(), module)]
}

// field returns the name of the field that an expression selects, such as StageDelay.DurationFrom; "" if
// it is none of them.
func (r *fieldReader) field(e *ast.SelectorExpr) string {
	s := r.info.Selections[e]
	if s == nil || s.Kind() != types.FieldVal || s.Obj().Pkg() == nil || s.Obj().Pkg().Path() != stageTypes {
		return ""
	}
	if name := r.owner(s) + "." + s.Obj().Name(); r.names[name] {
		return name
	}
	return ""
}

// owner returns the name of the type that declares the field of a selection.
func (r *fieldReader) owner(s *types.Selection) string {
	t := s.Recv()
	for _, i := range s.Index()[:len(s.Index())-1] { // through embedded fields
		t = structOf(t).Field(i).Type()
	}
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	if named, ok := types.Unalias(t).(*types.Named); ok {
		return named.Obj().Name()
	}
	return ""
}

func structOf(t types.Type) *types.Struct {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	return t.Underlying().(*types.Struct)
}
