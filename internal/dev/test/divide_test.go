package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPackagesWithGoroutinesAreRaced makes a module with packages of each kind.
func TestPackagesWithGoroutinesAreRaced(t *testing.T) {
	const test = "import \"testing\"\nfunc Test(t *testing.T) { "
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                   "module github.com/stagecraft-go/stagecraft\n\ngo 1.26\n",
		"internal/dev/effort/a.go": "package effort\n\nvar All bool\n",
		"computes/a.go":            "package computes\n\n// A comment may say\n//\n//\tgo run .\nvar A = \"go run .\"\n",
		"computes/a_test.go":       "package computes\n\n" + test + "}\n",
		"counts/a_test.go":         "package counts\n\nimport _ \"github.com/stagecraft-go/stagecraft/internal/dev/effort\"\n" + test + "}\n",
		"starts/a.go":              "package starts\n\nfunc A() { go A() }\n",
		"starts/a_test.go":         "package starts\n\n" + test + "}\n",
		"tested/a_test.go":         "package tested_test\n\nimport \"sync\"\n" + test + "var all sync.WaitGroup; all.Go(func() {}); all.Wait() }\n",
		"parallel/a_test.go":       "package parallel\n\n" + test + "t.Parallel() }\n",
		"bubble/a_test.go":         "package bubble\n\nimport \"testing/synctest\"\n" + test + "synctest.Test(t, func(*testing.T) {}) }\n",
		"serves/a_test.go":         "package serves\n\nimport _ \"net/http/httptest\"\nimport _ \"github.com/stagecraft-go/stagecraft/internal/dev/effort\"\n" + test + "}\n",
		"untested/a.go":            "package untested\n\nfunc A() { go A() }\n",
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	raced, plain, err := divide(dir)
	require.NoError(t, err)
	of := func(names ...string) (paths []string) {
		for _, name := range names {
			paths = append(paths, "github.com/stagecraft-go/stagecraft/"+name)
		}
		return paths
	}
	require.Equal(t, of("bubble", "parallel", "serves", "starts", "tested"), raced)
	require.Equal(t, of("computes", "counts", "serves"), plain)
}

// TestDivisionOfModules names packages that must be raced, and packages that must play all they can without
// the race detector.
func TestDivisionOfModules(t *testing.T) {
	const root = "github.com/stagecraft-go/stagecraft/"
	for dir, c := range map[string]struct{ raced, plain []string }{
		".": {
			[]string{root + "stage/player", root + "staged/player", root + "stage/memory", root + "kstatus/wait", root + "internal/listwatch"},
			[]string{root + "kstatus", root + "render", root + "staged/player", root + "stage/memory"},
		},
		"stage/lab": {
			[]string{root + "stage/lab/apiserver", root + "stage/lab/hunt", root + "stage/lab/labtest"},
			[]string{root + "stage/lab/hunt", root + "stage/lab/internal/hostile", root + "stage/lab/controllers/kubelet"},
		},
	} {
		raced, plain, err := divide("../../../" + dir)
		require.NoError(t, err)
		require.Subset(t, raced, c.raced)
		require.Subset(t, plain, c.plain)
		require.NotContains(t, raced, root+"kstatus")
		t.Logf("%s: %d with the race detector, %d without", dir, len(raced), len(plain))
	}
}
