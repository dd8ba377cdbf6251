package house_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is what a visitor sees first: the folders that the owner named, and the pages of a library.
const root = ".ci .github .gitignore CHANGELOG.md COMPATIBILITY.md CONTRIBUTING.md LICENSE Makefile README.md SECURITY.md " +
	"delay doc.go examples go.mod go.sum internal kstatus render selector stage staged"

// belowStage are the packages below stage.
const belowStage = "diagram explore kube lab lint memory player presets reconcile simulation stagetest transport v1alpha1"

// TestTheEntranceIsThatOfALibrary checks the files in the root and the directories below stage.
func TestTheEntranceIsThatOfALibrary(t *testing.T) {
	inRoot, inStage := map[string]bool{}, map[string]bool{}
	for _, name := range tracked(t) {
		parts := strings.Split(name, "/")
		inRoot[parts[0]] = true
		if len(parts) > 2 && parts[0] == "stage" && parts[1] != "testdata" {
			inStage[parts[1]] = true
		}
	}
	for found, want := range map[*map[string]bool]string{&inRoot: root, &inStage: belowStage} {
		var names []string
		for name := range *found {
			names = append(names, name)
		}
		require.ElementsMatch(t, strings.Fields(want), names)
	}
}

// relativeLink matches the target of a relative link in Markdown, without its anchor.
var relativeLink = regexp.MustCompile(`\]\(([^)#:\s]+)(#[^)]*)?\)`)

// TestRelativeLinksLead checks that the files that pages link to exist.
func TestRelativeLinksLead(t *testing.T) {
	for _, page := range tracked(t) {
		if filepath.Ext(page) != ".md" {
			continue
		}
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, link := range relativeLink.FindAllStringSubmatch(string(text), -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(page), link[1]))
			require.NoError(t, err, page)
		}
	}
}
