package house_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// writesDirectly lists the files that may write without package files, which replaces a file as a
// whole: each writes only new files, or files that git restores.
var writesDirectly = map[string]string{
	"examples/stagecraft/packaging/main.go":         "writes into a new folder",
	"examples/stagecraft/packaging/site/main.go":    "writes into a new folder",
	"examples/stagecraft/backup.go":                 "writes a new file that only its user may read, and removes it if it is not complete",
	"examples/stagecraft/record.go":                 "appends to a log while it runs, and refuses one that exists",
	"examples/stagecraft/serve.go":                  "writes a file that only its user may read, and renames it",
	"internal/files/files.go":                       "is the package",
	"stage/lab/internal/files/files.go":             "is the package of the lab",
	"stage/lab/sweep/file.go":                       "appends whole runs, and goes on after those that are there",
	"examples/stagecraft/packaging/overlay.go":      "writes into a new directory of one build",
	"internal/dev/release/checkout.go":              "rewrites go.mod files, in a clean clone, in a module without dependencies",
	"internal/dev/release/api.go":                   "writes into a checkout, which git has",
	"internal/dev/release/pack.go":                  "writes a proxy into a new directory",
	"internal/dev/e2e/controlplane/controlplane.go": "writes into the directory of one run",
	"internal/dev/e2e/controlplane/controllers.go":  "writes a log of one run",
	"internal/dev/e2e/controlplane/restart.go":      "writes into the directory of one run",
	"internal/dev/e2e/cluster/build.go":             "writes into the directory of one run",
	"internal/dev/e2e/cluster/player/main.go":       "writes a profile while it runs",
	"internal/dev/e2e/cluster/measure/process.go":   "writes a log of one run",
}

// TestFilesAreReplacedAsAWhole checks that no code truncates a file before the new content is
// complete. Otherwise a full disk or a kill would leave half of the content.
func TestFilesAreReplacedAsAWhole(t *testing.T) {
	writes := regexp.MustCompile(`\bos\.(WriteFile|Create|CreateTemp|OpenFile|Truncate)\(`)
	seen := map[string]bool{}
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if writes.Match(text) {
			seen[path] = true
			require.NotEmpty(t, writesDirectly[path], "%s writes a file without package internal/files or record.WriteFile", path)
		}
		return err
	}))
	for path := range writesDirectly {
		require.True(t, seen[path], "%s writes no file", path)
	}
}
