package features

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apidiscovery "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/features"
)

// sources returns the directory of a module in the module cache.
func sources(t *testing.T, module string) string {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(dir))
}

// constants returns the constants of a package that are texts. The package is read and not built:
// kube-controller-manager and kube-apiserver need hundreds of packages that this module does not.
func constants(t *testing.T, dir string) map[string]string {
	names, err := filepath.Glob(dir + "/*.go")
	require.NoError(t, err)
	found := map[string]string{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, isValue := n.(*ast.ValueSpec)
			if !isValue || len(spec.Values) != len(spec.Names) {
				return true
			}
			for i, v := range spec.Values {
				if text, isText := v.(*ast.BasicLit); isText && text.Kind == token.STRING {
					found[spec.Names[i].Name], err = strconv.Unquote(text.Value)
					require.NoError(t, err)
				}
			}
			return true
		})
	}
	return found
}

func namesOf(parts []features.Part) (names []string) {
	for _, p := range parts {
		names = append(names, p.Name)
	}
	return names
}

// TestEveryControllerIsInTheTable compares the table with what kube-controller-manager --controllers=*
// knows: the names of its package, and those of the package for cloud providers.
func TestEveryControllerIsInTheTable(t *testing.T) {
	var want []string
	for _, dir := range []string{sources(t, "k8s.io/kubernetes") + "/cmd/kube-controller-manager/names", sources(t, "k8s.io/cloud-provider") + "/names"} {
		for constant, name := range constants(t, dir) {
			if strings.HasSuffix(constant, "Controller") && name != "cloud-node-controller" { // that one is part of cloud-controller-manager alone
				want = append(want, name)
			}
		}
	}
	require.Greater(t, len(want), 50)
	slices.Sort(want)
	require.Equal(t, want, namesOf(features.Controllers()))
}

// TestEveryAdmissionPluginIsInTheTable compares the table with AllOrderedPlugins of kube-apiserver,
// and the state off with its list of plugins that are on by default.
func TestEveryAdmissionPluginIsInTheTable(t *testing.T) {
	root := sources(t, "k8s.io/kubernetes")
	file, err := parser.ParseFile(token.NewFileSet(), root+"/pkg/kubeapiserver/options/plugins.go", nil, 0)
	require.NoError(t, err)
	lists := map[string][]string{} // of the names of plugins, by the name of the variable
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			if n.Names[0].Name == "AllOrderedPlugins" {
				lists["all"] = pluginNames(t, file, n.Values[0])
			}
		case *ast.AssignStmt:
			if v, isName := n.Lhs[0].(*ast.Ident); isName && v.Name == "defaultOnPlugins" {
				lists["on"] = pluginNames(t, file, n.Rhs[0])
			}
		}
		return true
	})
	require.Greater(t, len(lists["all"]), 40)
	require.Greater(t, len(lists["on"]), 20)
	slices.Sort(lists["all"])
	require.Equal(t, lists["all"], namesOf(features.AdmissionPlugins()))
	for _, p := range features.AdmissionPlugins() {
		isOn := slices.Contains(lists["on"], p.Name) && !strings.Contains(p.Feature, "feature gate")
		require.Equal(t, isOn, p.State != features.Off, p.Name)
	}
}

// pluginNames returns the names of the plugins in a list, such as limitranger.PluginName.
func pluginNames(t *testing.T, file *ast.File, list ast.Expr) (names []string) {
	dirs := map[string]string{}
	for _, i := range file.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		require.NoError(t, err)
		name := filepath.Base(path)
		if i.Name != nil {
			name = i.Name.Name
		}
		dirs[name] = path
	}
	ast.Inspect(list, func(n ast.Node) bool {
		s, isSelector := n.(*ast.SelectorExpr)
		if !isSelector || s.Sel.Name != "PluginName" {
			return true
		}
		path := dirs[s.X.(*ast.Ident).Name]
		dir := ""
		for _, module := range []string{"k8s.io/kubernetes", "k8s.io/apiserver"} {
			if rest, within := strings.CutPrefix(path, module+"/"); within {
				dir = sources(t, module) + "/" + rest
			}
		}
		name := constants(t, dir)["PluginName"]
		require.NotEmpty(t, name, path)
		names = append(names, name)
		return true
	})
	return names
}

// TestEveryServedKindIsInTheTable walks all kinds that kube-apiserver 1.36 can serve, those of feature
// gates too.
func TestEveryServedKindIsInTheTable(t *testing.T) {
	data, err := os.ReadFile(sources(t, "k8s.io/kubernetes") + "/api/discovery/aggregated_v2.json")
	require.NoError(t, err)
	var all apidiscovery.APIGroupDiscoveryList
	require.NoError(t, json.Unmarshal(data, &all))
	known := map[schema.GroupKind]bool{}
	for _, k := range features.Kinds() {
		known[k.GroupKind()] = true
	}
	met := 0
	for _, g := range all.Items {
		for _, v := range g.Versions {
			for _, r := range v.Resources {
				require.True(t, known[schema.GroupKind{Group: g.Name, Kind: r.ResponseKind.Kind}], "%s of %q is neither modelled nor reported", r.ResponseKind.Kind, g.Name)
				met++
				for _, s := range r.Subresources {
					kind := schema.GroupKind{Group: s.ResponseKind.Group, Kind: s.ResponseKind.Kind}
					if kind.Group == "" {
						kind.Group = g.Name
					}
					require.True(t, known[kind], "%s of %s/%s is neither modelled nor reported", kind, r.Resource, s.Subresource)
				}
			}
		}
	}
	require.Greater(t, met, 70)
}
