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
// exist. A test whose name several packages have is written with the directory of its package, as in
// internal/dev/histories.TestHistories.
func TestThreatsHaveTheirTests(t *testing.T) {
	packages := testPackages(t)
	security, err := os.ReadFile("SECURITY.md")
	require.NoError(t, err)
	names := regexp.MustCompile("`(?:([\\w/]+)\\.)?((?:Test|Fuzz)\\w+)`").FindAllStringSubmatch(string(security), -1)
	require.Greater(t, len(names), 20)
	for _, name := range names {
		found := packages[name[2]]
		if name[1] == "" {
			require.Len(t, found, 1, "%s: the packages that have it; name the one that is meant", name[2])
			continue
		}
		require.Contains(t, found, name[1], name[0])
	}
	permissions, err := os.ReadFile("stage/kube/PERMISSIONS.md")
	require.NoError(t, err)
	for _, link := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(string(permissions), -1) {
		require.FileExists(t, filepath.Join("stage/kube", link[1]))
	}
}

// testPackages returns the directories that have a test, by its name.
func testPackages(t *testing.T) map[string][]string {
	packages, test := map[string][]string{}, regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(\w+ \*testing\.[TF]\)`)
	require.NoError(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, name := range test.FindAllStringSubmatch(string(text), -1) {
			packages[name[1]] = append(packages[name[1]], filepath.ToSlash(filepath.Dir(path)))
		}
		return err
	}))
	return packages
}
