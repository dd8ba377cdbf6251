package house_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/stagecraft-go/stagecraft/"

func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// A listed is a package as go list prints it.
type listed struct {
	ImportPath, Name                   string
	Standard, DepOnly                  bool
	Imports, TestImports, XTestImports []string
}

// rel returns the path of a package from the root of the repository.
func (p listed) rel() string { return strings.TrimPrefix(p.ImportPath, module) }

var lists = struct {
	sync.Mutex
	of map[string]map[string]listed
}{of: map[string]map[string]listed{}}

// list returns the packages of the module in a directory and all that they import, by import path. It
// asks the go command once for each module.
func list(t *testing.T, dir string) map[string]listed {
	t.Helper()
	lists.Lock()
	defer lists.Unlock()
	if lists.of[dir] == nil {
		cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Name,Standard,DepOnly,Imports,TestImports,XTestImports", "./...")
		cmd.Dir, cmd.Stderr = dir, os.Stderr
		out, err := cmd.Output()
		require.NoError(t, err, dir)
		packages := map[string]listed{}
		for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
			var p listed
			require.NoError(t, d.Decode(&p))
			packages[p.ImportPath] = p
		}
		lists.of[dir] = packages
	}
	return lists.of[dir]
}

// own returns the packages of the module in a directory, sorted.
func own(t *testing.T, dir string) []listed {
	var packages []listed
	for _, p := range list(t, dir) {
		if !p.DepOnly {
			packages = append(packages, p)
		}
	}
	slices.SortFunc(packages, func(a, b listed) int { return strings.Compare(a.ImportPath, b.ImportPath) })
	return packages
}

// linked returns the packages outside the standard library that a program with a package links.
func linked(packages map[string]listed, path string) []string {
	seen, queue := map[string]bool{path: true}, []string{path}
	for len(queue) > 0 {
		p := packages[queue[0]]
		queue = queue[1:]
		for _, i := range p.Imports {
			if next, known := packages[i]; known && !next.Standard && !seen[i] {
				seen[i] = true
				queue = append(queue, i)
			}
		}
	}
	var all []string
	for p := range seen {
		all = append(all, p)
	}
	return all
}
