package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// requests are the methods of a transport that a wrapper changes.
var requests = map[string]bool{"Get": true, "List": true, "Watch": true, "Create": true, "Patch": true, "Delete": true}

// neverPlayed are wrappers that only lease holders and reconcile.Play get, which do not call Share.
var neverPlayed = map[string]bool{"stage/kube/nodes/gated": true, "stage/lab/internal/oracle/workloads/admitted": true}

// TestWrappersOfClustersAreNotBypassed checks wrappers that embed a *Cluster and change requests, in
// packages that play. player.New calls Share, which a wrapper inherits from the Cluster: without its own
// Share the player would get around the wrapper.
func TestWrappersOfClustersAreNotBypassed(t *testing.T) {
	dirs := map[string]*wrappers{}
	for _, name := range tracked(t) {
		if !strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		dir := name[:strings.LastIndex("/"+name, "/")]
		if dirs[dir] == nil {
			dirs[dir] = &wrappers{embeds: map[string]bool{}, methods: map[string]map[string]bool{}}
		}
		ast.Inspect(file, dirs[dir].add)
	}
	found := 0
	for dir, w := range dirs {
		for name := range w.embeds {
			if w.plays && w.changes(name) && !neverPlayed[dir+name] {
				found++
				require.True(t, w.methods[name]["Share"] || w.hides, "%s%s has no method Share: a player gets around it", dir, name)
			}
		}
	}
	require.Greater(t, found, 5)
}

// wrappers are the types of the tests of a package.
type wrappers struct {
	embeds  map[string]bool            // types that embed a *Cluster
	methods map[string]map[string]bool // by type
	plays   bool                       // a test makes a player
	hides   bool                       // the package has a type that hides optional interfaces: struct{ transport.Transport }
}

func (w *wrappers) add(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.TypeSpec:
		w.addType(n)
	case *ast.FuncDecl:
		if n.Recv != nil {
			name := receiver(n.Recv.List[0].Type)
			if w.methods[name] == nil {
				w.methods[name] = map[string]bool{}
			}
			w.methods[name][n.Name.Name] = true
		}
	case *ast.SelectorExpr:
		if x, ok := n.X.(*ast.Ident); ok && x.Name == "player" && (n.Sel.Name == "New" || n.Sel.Name == "Play") {
			w.plays = true
		}
	}
	return true
}

func (w *wrappers) addType(n *ast.TypeSpec) {
	of, ok := n.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range of.Fields.List {
		if len(f.Names) > 0 {
			continue
		}
		if star, ok := f.Type.(*ast.StarExpr); ok && selected(star.X) == "Cluster" {
			w.embeds[n.Name.Name] = true
		}
		w.hides = w.hides || len(of.Fields.List) == 1 && selected(f.Type) == "Transport"
	}
}

func (w *wrappers) changes(name string) bool {
	for method := range w.methods[name] {
		if requests[method] {
			return true
		}
	}
	return false
}

// selected is the name after the dot of an expression.
func selected(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		return s.Sel.Name
	}
	return ""
}

func receiver(e ast.Expr) string {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	name, _ := e.(*ast.Ident)
	if name == nil {
		return ""
	}
	return name.Name
}
