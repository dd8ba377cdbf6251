package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// readers are the packages of the lab whose reads package reads compares with the table of features. The
// packages below them that only tests use are not among them.
const readers = module + "stage/lab/controllers"

var notReaders = map[string]string{
	"internal/clustertest": "is a harness of tests",
	"internal/reads":       "walks whole objects",
	"features":             "reports what no controller reads",
}

// TestControllersReadByTheAccessors checks that controllers read fields of objects by package object or
// fields, so that package reads sees each read.
func TestControllersReadByTheAccessors(t *testing.T) {
	packages := exported(t, "stage/lab")
	files := token.NewFileSet()
	imports := importerOf(t, "stage/lab")
	seen := map[string]bool{}
	for path, p := range packages {
		name, below := strings.CutPrefix(path, readers+"/")
		if path != readers && !below {
			continue
		}
		if notReaders[name] != "" {
			seen[name] = true
			continue
		}
		for _, fault := range directReads(t, files, imports, p) {
			t.Errorf("%s: read the field by package fields or object", fault)
		}
	}
	require.Len(t, seen, len(notReaders))
}

// directReads lists where a package reads a field of a map[string]any itself, or by package unstructured.
func directReads(t *testing.T, files *token.FileSet, imports types.Importer, p compiled) []string {
	t.Helper()
	info := types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		parsed = append(parsed, file)
	}
	_, err := (&types.Config{Importer: imports}).Check(p.ImportPath, files, parsed, &info)
	require.NoError(t, err)
	var found []string
	assigned := map[ast.Expr]bool{}
	for _, file := range parsed {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, target := range n.Lhs {
					assigned[target] = true
				}
			case *ast.IndexExpr:
				if !assigned[n] && isObject(info.TypeOf(n.X)) && info.Types[n.Index].Value != nil {
					found = append(found, files.Position(n.Pos()).String())
				}
			case *ast.SelectorExpr:
				if f := info.Uses[n.Sel]; f != nil && f.Pkg() != nil && strings.HasSuffix(f.Pkg().Path(), "/unstructured") && strings.HasPrefix(f.Name(), "Nested") {
					found = append(found, files.Position(n.Pos()).String())
				}
			}
			return true
		})
	}
	return found
}

// isObject reports whether a type is map[string]any.
func isObject(t types.Type) bool {
	m, ok := types.Unalias(t).(*types.Map)
	if !ok {
		return false
	}
	element, ok := m.Elem().Underlying().(*types.Interface)
	return ok && element.Empty() && types.Identical(m.Key(), types.Typ[types.String])
}
