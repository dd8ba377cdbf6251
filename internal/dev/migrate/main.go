// Command migrate rewrites Go files for the import paths of the module stage/lab:
//
//	go run github.com/stagecraft-go/stagecraft/internal/dev/migrate@latest DIRECTORY...
//
// It rewrites all Go files below the directories and prints their names. Commit before you run it.
// Afterwards, go vet shows the changes that you must make by hand; the CHANGELOG lists them.
package main

import (
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/stagecraft-go/stagecraft/internal/files"
)

const module = "github.com/stagecraft-go/stagecraft/"

// moves are the packages that moved, with all packages below them.
var moves = [][2]string{
	{"stage/simulation/load", "stage/lab/load"}, {"stage/simulation/fault", "stage/lab/fault"}, {"stage/simulation/record", "stage/lab/record"},
	{"stage/simulation/measure", "stage/lab/measure"}, {"stage/simulation/expect", "stage/lab/expect"}, {"stage/simulation/sweep", "stage/lab/sweep"},
	{"stage/simulation/statistics", "stage/lab/statistics"}, {"stage/simulation/progress", "stage/lab/progress"},
	{"stage/defaults", "stage/lab/defaults"}, {"stage/validation", "stage/lab/validation"}, {"stage/controllers", "stage/lab/controllers"},
	{"stage/hunt", "stage/lab/hunt"}, {"stage/fit", "stage/lab/fit"}, {"stage/apiserver", "stage/lab/apiserver"},
	{"stage/stagetest/fakes", "stage/lab/fakes"}, {"stage/stagetest/gomega", "stage/lab/gomega"},
	{"stage/timing", "stage/reconcile/timing"},
}

const (
	stories = `"` + module + `stage/stagetest"`
	lab     = `"` + module + `stage/lab/labtest"`
)

// ofLab matches the names of package stagetest that package labtest has now.
var ofLab = regexp.MustCompile(`\bstagetest\.(New|LabOptions|Lab|Ready|Controllers|StandIns|RequireCurrent|Failure|Base|Prepare|T)\b`)

// ofStories matches the names that package stagetest keeps.
var ofStories = regexp.MustCompile(`\bstagetest\.(Run|Play|Options)\b`)

// rewrite returns the text of a Go file with the new paths and names.
func rewrite(text string) string {
	for _, m := range moves {
		text = regexp.MustCompile(`"`+module+m[0]+`(["/])`).ReplaceAllString(text, `"`+module+m[1]+`$1`)
	}
	if !strings.Contains(text, stories) || !ofLab.MatchString(text) {
		return text
	}
	imports := lab
	if ofStories.MatchString(text) {
		imports = lab + "\n\t" + stories
	}
	text = strings.Replace(text, stories, imports, 1)
	text = ofLab.ReplaceAllString(text, "labtest.$1")
	return strings.ReplaceAll(text, "labtest.LabOptions", "labtest.Options")
}

func main() {
	for _, dir := range os.Args[1:] {
		if err := filepath.WalkDir(dir, migrate); err != nil {
			fmt.Fprintln(os.Stderr, "migrate:", err)
			os.Exit(1)
		}
	}
}

// migrate rewrites a file in its place if it is a Go file that changes.
func migrate(name string, d fs.DirEntry, err error) error {
	if err != nil || d.IsDir() || filepath.Ext(name) != ".go" {
		return err
	}
	before, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	after := rewrite(string(before))
	if after == string(before) {
		return nil
	}
	text, err := format.Source([]byte(after))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fmt.Println(name)
	return files.WriteBytes(name, text)
}
