package house_test

import (
	"bytes"
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// eachProse calls a function for each line of comments and of Markdown, except testdata and the
// changelog.
func eachProse(t *testing.T, do func(file string, line int, text string)) {
	t.Helper()
	files, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "*.go", "*.md").Output()
	require.NoError(t, err)
	for file := range strings.Lines(string(files)) {
		file = strings.TrimSpace(file)
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) || strings.Contains(file, "testdata/") || file == "CHANGELOG.md" {
			continue
		}
		require.NoError(t, err)
		for line, prose := range proseOf(file, text) {
			do(file, line, prose)
		}
	}
}

// proseOf returns the lines of comments, or of Markdown outside of code, by their numbers.
func proseOf(file string, text []byte) map[int]string {
	if filepath.Ext(file) == ".md" {
		return markdownProse(text)
	}
	lines := map[int]string{}
	files := token.NewFileSet()
	f := files.AddFile(file, -1, len(text))
	var s scanner.Scanner
	s.Init(f, text, nil, scanner.ScanComments)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return lines
		}
		if tok != token.COMMENT || strings.HasPrefix(lit, "//\t") || strings.HasPrefix(lit, "//go:") {
			continue
		}
		for i, line := range strings.Split(lit, "\n") {
			lines[files.Position(pos).Line+i] = line
		}
	}
}

func markdownProse(text []byte) map[int]string {
	lines, isCode := map[int]string{}, false
	for i, line := range bytes.Split(text, []byte("\n")) {
		if bytes.HasPrefix(bytes.TrimSpace(line), []byte("```")) {
			isCode = !isCode
		}
		if !isCode {
			lines[i+1] = string(line)
		}
	}
	return lines
}
