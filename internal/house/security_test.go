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

// TestThreatsHaveTheirTests checks that the tests in SECURITY.md and the files in PERMISSIONS.md
// exist.
func TestThreatsHaveTheirTests(t *testing.T) {
	var sources strings.Builder
	require.NoError(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		sources.Write(text)
		return err
	}))
	security, err := os.ReadFile("SECURITY.md")
	require.NoError(t, err)
	names := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`").FindAllStringSubmatch(string(security), -1)
	require.Greater(t, len(names), 20)
	for _, name := range names {
		require.True(t, strings.Contains(sources.String(), "func "+name[1]+"(t *testing.T)") || strings.Contains(sources.String(), "func "+name[1]+"(f *testing.F)"), name[1])
	}
	permissions, err := os.ReadFile("stage/kube/PERMISSIONS.md")
	require.NoError(t, err)
	for _, link := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(string(permissions), -1) {
		require.FileExists(t, filepath.Join("stage/kube", link[1]))
	}
}
