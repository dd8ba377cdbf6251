package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../../../.."

var (
	attribute = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	id        = regexp.MustCompile(`id="([^"]*)"`)
)

// TestSite makes the site, and follows all links of its pages: within the site, with their anchors, and into the
// repository.
func TestSite(t *testing.T) {
	out, play := t.TempDir(), filepath.Join(t.TempDir(), "index.html")
	require.NoError(t, os.WriteFile(play, []byte("<!DOCTYPE html><title>play</title>"), 0o644))
	require.NoError(t, run([]string{"-root", root, "-out", out, "-play", play}))
	sources, err := filepath.Glob(filepath.Join(root, docs, "*.md"))
	require.NoError(t, err)
	pages, err := filepath.Glob(filepath.Join(out, "*.html"))
	require.NoError(t, err)
	require.Len(t, pages, len(sources)+1, "and the page to play with")
	for _, file := range pages {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range attribute.FindAllStringSubmatch(string(data), -1) {
			requireTarget(t, out, file, m[1])
		}
	}
	index, err := os.ReadFile(filepath.Join(out, "index.html"))
	require.NoError(t, err)
	require.Contains(t, string(index), `<a href="serve-a-cluster.html">Serve a cluster to any language</a>`)
	require.Contains(t, string(index), `<a href="play.html">`)
	require.Less(t, strings.Index(string(index), "test-an-operator.html"), strings.Index(string(index), "compared.html"), "the order of the index")
	require.ErrorContains(t, run([]string{"-root", root}), "-out is required")
	require.ErrorContains(t, run([]string{"-root", root, "-out", out}), "it is not empty")
	require.ErrorContains(t, run([]string{"-root", out, "-out", t.TempDir()}), "no pages")
}

// requireTarget checks that something is where a link of a page leads.
func requireTarget(t *testing.T, out, page, link string) {
	t.Helper()
	if inside, ok := strings.CutPrefix(link, repository); ok {
		file, _, _ := strings.Cut(inside, "#")
		_, err := os.Stat(filepath.Join(root, file))
		require.NoError(t, err, "%s: %s", page, link)
		return
	}
	if strings.Contains(link, "://") {
		return
	}
	file, anchor, hasAnchor := strings.Cut(link, "#")
	if file == "" {
		file = filepath.Base(page)
	}
	data, err := os.ReadFile(filepath.Join(out, file))
	require.NoError(t, err, "%s: %s", page, link)
	if hasAnchor {
		require.Contains(t, id.FindAllString(string(data), -1), `id="`+anchor+`"`, "%s: %s", page, link)
	}
}
