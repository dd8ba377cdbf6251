package house_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// missingPage is the one table of what Kubernetes has and the lab does not have yet.
const missingPage = "stage/lab/MISSING.md"

// saysMissing finds a sentence that says that something is missing. FEATURES.md, whose rows other tests
// check, has single fields.
var saysMissing = regexp.MustCompile(`Not modell?ed:|\bnot modell?ed yet\b|\| *not modell?ed|Not there yet|\bnot (implemented|supported|served) yet\b|What is not served`)

// TestWhatIsMissingStandsInOneTable checks that each row of the table has a test, and that no other page or
// comment says that something is missing.
func TestWhatIsMissingStandsInOneTable(t *testing.T) {
	page, err := os.ReadFile(missingPage)
	require.NoError(t, err)
	tests := testNames(t)
	rows := regexp.MustCompile(`(?m)^\| `+"`"+`.* \| (Test\w+)(/[\w-]+)? \|$`).FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(rows), 10)
	for _, row := range rows {
		require.True(t, tests[row[1]], "%s: there is no test %s", missingPage, row[1])
		if sub := strings.TrimPrefix(row[2], "/"); sub != "" {
			require.True(t, tests[`"`+sub+`"`], "%s: %s has no case %q", missingPage, row[1], sub)
		}
	}
	require.Len(t, rows, strings.Count(string(page), "\n| `"), "%s: each row ends with a test", missingPage)
	eachProse(t, func(file string, line int, text string) {
		exempt := file == missingPage || strings.HasSuffix(file, "FEATURES.md") || strings.HasPrefix(file, "stage/lab/hunt/") || strings.HasPrefix(file, "examples/simulator/") // limits of a study
		if found := saysMissing.FindString(text); found != "" && !exempt {
			t.Errorf("%s:%d: %q: what is missing stands in %s, with a test", file, line, found, missingPage)
		}
	})
}

// testNames has the names of all tests, and the quoted texts of the lab's tests.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	files, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "stage/lab/*_test.go").Output()
	require.NoError(t, err)
	names := map[string]bool{}
	for file := range strings.Lines(string(files)) {
		text, err := os.ReadFile(strings.TrimSpace(file))
		if err != nil {
			continue // deleted
		}
		for _, found := range regexp.MustCompile(`\bTest\w+|"[\w-]+"`).FindAllString(string(text), -1) {
			names[found] = true
		}
	}
	return names
}
