package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// concurrentImports are packages whose users have goroutines, or a server with goroutines.
var concurrentImports = []string{"testing/synctest", "net/http/httptest", "golang.org/x/sync/errgroup"}

// concurrentCalls are the names of functions that start goroutines.
var concurrentCalls = []string{"Go", "AfterFunc", "Parallel", "RunParallel"}

// countedImports are packages whose users play less, or nothing, with the race detector.
var countedImports = []string{
	"github.com/stagecraft-go/stagecraft/internal/dev/effort",
	"github.com/stagecraft-go/stagecraft/internal/dev/race",
}

// A listed is a package as go list describes it.
type listed struct {
	ImportPath, Dir                    string
	GoFiles, TestGoFiles, XTestGoFiles []string
}

// divide returns the packages of a module that have tests: raced are for the race detector, plain run without
// it. A package can be in both.
func divide(module string) (raced, plain []string, err error) {
	packages, err := list(module)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range packages {
		if len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 {
			continue
		}
		concurrent, counted, err := p.look()
		if err != nil {
			return nil, nil, err
		}
		if concurrent {
			raced = append(raced, p.ImportPath)
		}
		if !concurrent || counted {
			plain = append(plain, p.ImportPath)
		}
	}
	return raced, plain, nil
}

// list lists the packages of a module.
func list(module string) (all []listed, err error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir = module
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	for d := json.NewDecoder(out); err == nil; {
		var p listed
		if err = d.Decode(&p); err == nil {
			all = append(all, p)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return all, errors.Join(err, cmd.Wait())
}

// look reads the files of a package, tests included.
func (p listed) look() (concurrent, counted bool, err error) {
	for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return false, false, fmt.Errorf("%s: %w", p.ImportPath, err)
		}
		concurrent = concurrent || importsOneOf(file, concurrentImports) || startsGoroutines(file)
		counted = counted || importsOneOf(file, countedImports)
	}
	return concurrent, counted, nil
}

func importsOneOf(file *ast.File, paths []string) bool {
	return slices.ContainsFunc(file.Imports, func(s *ast.ImportSpec) bool {
		path, err := strconv.Unquote(s.Path.Value)
		return err == nil && slices.Contains(paths, path)
	})
}

func startsGoroutines(file *ast.File) (found bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.SelectorExpr:
			found = found || slices.Contains(concurrentCalls, n.Sel.Name)
		}
		return !found
	})
	return found
}
