package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// unreleased returns the section of the changelog about the next version.
func unreleased(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n## Unreleased\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}

// TestBreakingChangesAreInTheChangelog compares the API with the API of the last version, which
// make api records.
func TestBreakingChangesAreInTheChangelog(t *testing.T) {
	section := unreleased(t)
	now, err := loadAPI(root, nil, apiPackages...)
	require.NoError(t, err)
	for _, pkg := range apiPackages {
		text, err := os.ReadFile(apiFile(pkg))
		require.NoError(t, err)
		found, err := breaks(root, pkg, text, now[pkg])
		require.NoError(t, err, pkg)
		for _, change := range found {
			if !strings.Contains(section, "`"+change[0]+"`") {
				t.Errorf("%s: %s: name `%s` in the section Unreleased of CHANGELOG.md, or do not break it", change[0], change[1], change[0])
			}
		}
	}
}

// TestBreakingChangesAreFound compares package delay with APIs that it does not have.
func TestBreakingChangesAreFound(t *testing.T) {
	now, err := loadAPI(root, nil, "delay")
	require.NoError(t, err)
	text, err := surface(now["delay"])
	require.NoError(t, err)
	for name, test := range map[string]struct{ old, new, want string }{
		"nothing":             {},
		"a function is gone":  {"func Compile(", "func Gone() {}\n\nfunc Compile(", "delay.Gone removed"},
		"a parameter is gone": {"func Compile(", "func Compile(_ int, ", "delay.Compile changed from"},
		"a field is gone":     {"type Range struct {", "type Range struct {\nGone int\n", "delay.Range.Gone removed"},
	} {
		t.Run(name, func(t *testing.T) {
			before := strings.Replace(string(text), test.old, test.new, 1)
			found, err := breaks(root, "delay", []byte(before), now["delay"])
			require.NoError(t, err)
			if test.want == "" {
				require.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			require.Contains(t, found[0][0]+" "+found[0][1], test.want)
		})
	}
}
