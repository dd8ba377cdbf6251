package house_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	maxFileBytes     = 250 << 10 // of anything in the repository
	maxFileLines     = 500       // of a Go file
	maxFunctionLines = 60        // from func to the closing brace; tests may have longer tables
	maxYAMLColumns   = 180       // of a line with YAML in a Go file: longer objects belong in a file of testdata
)

// tracked returns the files that git knows or would add, of all modules.
func tracked(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Skip("not a git checkout")
	}
	var files []string
	for name := range strings.Lines(string(out)) {
		if info, err := os.Lstat(strings.TrimSpace(name)); err == nil && info.Mode().IsRegular() {
			files = append(files, strings.TrimSpace(name))
		}
	}
	return files
}

func TestFilesAreSmall(t *testing.T) {
	for _, name := range tracked(t) {
		info, err := os.Stat(name)
		require.NoError(t, err)
		if info.Size() > maxFileBytes {
			t.Errorf("%s has %d bytes: a script should make it again, or it should be split", name, info.Size())
		}
	}
}

// objectInYAML matches the fields that most objects of Kubernetes have, as a fixture writes them.
var objectInYAML = regexp.MustCompile(`{apiVersion: [a-z]|({|, |\\n|^\s*)(metadata|spec|status): ?{`)

func TestGoFilesAreShort(t *testing.T) {
	for _, name := range tracked(t) {
		if filepath.Ext(name) != ".go" {
			continue
		}
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			if len(line) > maxYAMLColumns && objectInYAML.MatchString(line) {
				t.Errorf("%s:%d: %d columns with YAML", name, number, len(line))
			}
		}
		if number > maxFileLines {
			t.Errorf("%s has %d lines", name, number)
		}
	}
}

// TestFunctionsAreShortAndDocumented holds the length of functions, and that a comment on a
// declaration begins with its name: one that does not was left behind when something was renamed.
func TestFunctionsAreShortAndDocumented(t *testing.T) {
	for _, name := range tracked(t) {
		if filepath.Ext(name) != ".go" {
			continue
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			for _, fault := range faults(files, decl) {
				t.Error(fault)
			}
		}
	}
}

// faults returns the faults of a declaration.
func faults(files *token.FileSet, decl ast.Decl) []string {
	var found []string
	check := func(doc *ast.CommentGroup, name *ast.Ident) {
		if doc != nil && !namedFirst(doc.Text(), name.Name) {
			found = append(found, fmt.Sprintf("%s: the comment on %s does not begin with its name", files.Position(name.Pos()), name.Name))
		}
	}
	switch d := decl.(type) {
	case *ast.FuncDecl:
		check(d.Doc, d.Name)
		if lines := files.Position(d.End()).Line - files.Position(d.Pos()).Line + 1; lines > maxFunctionLines && !isTest(files.Position(d.Pos()).Filename) {
			found = append(found, fmt.Sprintf("%s: %s has %d lines", files.Position(d.Pos()), d.Name.Name, lines))
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				doc := s.Doc
				if !d.Lparen.IsValid() {
					doc = d.Doc
				}
				check(doc, s.Name)
			case *ast.ValueSpec:
				if !d.Lparen.IsValid() && len(s.Names) == 1 {
					check(d.Doc, s.Names[0])
				}
			}
		}
	}
	return found
}

func isTest(file string) bool { return strings.HasSuffix(file, "_test.go") }

// testName matches the names of functions that go test runs. A comment on such a function need not
// name it, but must not name another function.
var testName = regexp.MustCompile(`^(Test|Example|Benchmark|Fuzz)([^a-z]|$)`)

// namedFirst tells whether a comment begins with a name, after an article.
func namedFirst(text, name string) bool {
	for _, article := range []string{"", "A ", "An ", "The "} {
		if rest, ok := strings.CutPrefix(text, article+name); ok && (rest == "" || !isLetter(rest[0])) {
			return true
		}
	}
	first, _, _ := strings.Cut(text, " ")
	return text == "" /* a directive */ || testName.MatchString(name) && !testName.MatchString(first)
}

func isLetter(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
