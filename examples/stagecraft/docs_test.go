package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A block is a block of code of a page. Its info string begins with the language. The rest is a file for what
// is written or compared, and for console blocks the program that has to be there, or "elsewhere": for
// commands that need a network, a daemon or another repository.
type block struct{ language, rest, text string }

var blockPattern = regexp.MustCompile("(?ms)^```([a-z]+)(?: ([^\n]+))?\n(.*?)^```$")

func blocksOf(page string) (blocks []block) {
	for _, m := range blockPattern.FindAllStringSubmatch(page, -1) {
		blocks = append(blocks, block{m[1], m[2], m[3]})
	}
	return blocks
}

func pages(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	require.Len(t, files, 11)
	return append(files, "README.md")
}

// TestPages writes the files of each page and runs its console blocks, in the order of the page. A Go program
// is a file of the repository, whose own tests run it.
func TestPages(t *testing.T) {
	for _, page := range pages(t) {
		t.Run(filepath.Base(page), func(t *testing.T) {
			text, err := os.ReadFile(page)
			require.NoError(t, err)
			dir := t.TempDir()
			for _, b := range blocksOf(string(text)) {
				b.check(t, filepath.Dir(page), dir)
			}
		})
	}
}

func (b block) check(t *testing.T, page, dir string) {
	switch {
	case b.language == "go":
		want, err := os.ReadFile(filepath.Join(page, b.rest))
		require.NoError(t, err)
		require.Equal(t, string(want), b.text, "the program is not that of %s", b.rest)
	case b.language == "yaml" || b.language == "sh":
		name := filepath.Join(dir, filepath.FromSlash(b.rest))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(b.text), 0o600))
	case b.language == "console" && b.rest != "elsewhere":
		if b.rest != "" {
			if _, err := exec.LookPath(b.rest); err != nil {
				t.Skip(err)
			}
		}
		for _, command := range strings.Split(b.text, "$ ")[1:] {
			line, want, _ := strings.Cut(command, "\n")
			requireOutput(t, dir, line, want)
		}
	case b.language != "console":
		t.Errorf("a block in %s is not checked", b.language)
	}
}

// requireOutput runs a command in a shell. In the wanted output … stands for any text, and "Exit code N" is its
// last line unless the code is 0.
func requireOutput(t *testing.T, dir, line, want string) {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "NO_COLOR=1")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, _ := cmd.Output() // the code is part of the output
	got := string(out)
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		got += stderr.String() + "Exit code " + string(rune('0'+code)) + "\n"
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(want), "…", "(?s:.*)")
	require.Regexp(t, "^"+pattern+"$", got, "$ %s\n%s", line, stderr.String())
}

var linkPattern = regexp.MustCompile(`\]\(([^)\s]*)\)`)

// TestAnchorsLead checks that a link to a heading has the heading. internal/house checks that files exist.
func TestAnchorsLead(t *testing.T) {
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range linkPattern.FindAllStringSubmatch(string(text), -1) {
			file, anchor, _ := strings.Cut(m[1], "#")
			if anchor == "" || strings.Contains(file, "://") {
				continue
			}
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			there, err := os.ReadFile(target)
			require.NoError(t, err, page)
			require.Contains(t, anchorsOf(string(there)), anchor, page)
		}
	}
}

func anchorsOf(page string) (anchors []string) {
	for line := range strings.Lines(page) {
		if heading := strings.TrimLeft(line, "#"); heading != line {
			words := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
			anchors = append(anchors, strings.ReplaceAll(words, " ", "-"))
		}
	}
	return anchors
}

// TestPagesBeginAndEndAlike: each page has a program or console block before its first section, and ends with
// what it cannot do.
func TestPagesBeginAndEndAlike(t *testing.T) {
	for _, page := range pages(t) {
		if filepath.Base(page) == "README.md" {
			continue
		}
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		sections := strings.Split(string(text), "\n## ")
		require.Contains(t, sections[0], "```", page)
		require.True(t, strings.HasPrefix(sections[len(sections)-1], "What it cannot do\n"), page)
	}
}
