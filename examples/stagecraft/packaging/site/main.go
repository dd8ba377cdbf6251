// Site makes a static site of the documentation: one HTML page for each page of examples/stagecraft/docs, and the page
// to play with. Any static host, or a browser alone, can show it.
//
//	go run . -out dist
//	go run . -out dist -play ../page/dist/index.html    # with the page to play with
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// repository is where links lead that leave the documentation.
const repository = "https://github.com/stagecraft-go/stagecraft/blob/main/"

// docs is the folder of the documentation in the repository.
const docs = "examples/stagecraft/docs"

//go:embed page.html
var layout string

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("site", flag.ContinueOnError)
	root := flags.String("root", "../../../..", "the `folder` of the repository")
	out := flags.String("out", "", "write the site into this new `folder`")
	play := flags.String("play", "", "the `file` of the page to play with (default: the site has no such page)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *out == "" {
		return errors.New("-out is required")
	}
	if files, err := os.ReadDir(*out); err == nil && len(files) > 0 {
		return fmt.Errorf("-out %s: it is not empty", *out)
	}
	s := site{root: *root, out: *out, play: *play, markdown: goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))}
	return s.write()
}

// A site is made of the Markdown files of one folder.
type site struct {
	root, out, play string
	markdown        goldmark.Markdown
	pages           []page
}

// A page is one file of the site.
type page struct {
	Source string // the path of the Markdown file in the repository
	File   string // the name in the site
	Title  string
	Body   template.HTML
}

// write writes all files.
func (s *site) write() error {
	if err := os.MkdirAll(s.out, 0o755); err != nil {
		return err
	}
	if err := s.read(); err != nil {
		return err
	}
	form, err := template.New("page").Parse(layout)
	if err != nil {
		return err
	}
	for _, p := range s.pages {
		var html bytes.Buffer
		if err := form.Execute(&html, map[string]any{"Page": p, "Pages": s.pages, "Play": s.play != "", "Repository": repository}); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(s.out, p.File), html.Bytes(), 0o644); err != nil {
			return err
		}
	}
	if s.play == "" {
		return nil
	}
	return copyFile(s.play, filepath.Join(s.out, "play.html"))
}

// read reads all pages. The first one is the index, which has links to the others in their order.
func (s *site) read() error {
	files, err := filepath.Glob(filepath.Join(s.root, filepath.FromSlash(docs), "*.md"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("%s: no pages", docs)
	}
	names := []string{"README.md"}
	for _, file := range files {
		if name := filepath.Base(file); name != names[0] {
			names = append(names, name)
		}
	}
	for _, name := range names {
		p, err := s.page(path.Join(docs, name))
		if err != nil {
			return err
		}
		s.pages = append(s.pages, p)
	}
	place := func(p page) int { return strings.Index(string(s.pages[0].Body), `href="`+p.File+`"`) }
	slices.SortStableFunc(s.pages[1:], func(a, b page) int { return place(a) - place(b) })
	return nil
}

// page turns a Markdown file into a page.
func (s *site) page(source string) (page, error) {
	data, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(source)))
	if err != nil {
		return page{}, err
	}
	p := page{Source: source, File: fileOf(path.Base(source))}
	document := s.markdown.Parser().Parse(text.NewReader(data))
	err = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level == 1 {
				p.Title = string(n.Lines().Value(data))
			}
		case *ast.Link:
			n.Destination = []byte(s.link(source, string(n.Destination)))
		case *ast.Image:
			name := path.Base(string(n.Destination))
			from := path.Join(path.Dir(source), string(n.Destination))
			n.Destination = []byte(name)
			return ast.WalkContinue, copyFile(filepath.Join(s.root, filepath.FromSlash(from)), filepath.Join(s.out, name))
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return page{}, fmt.Errorf("%s: %w", source, err)
	}
	var html bytes.Buffer
	err = s.markdown.Renderer().Render(&html, data, document)
	p.Body = template.HTML(html.String()) // the renderer escapes, and leaves out HTML of the text
	return p, err
}

// fileOf returns the name of a page in the site.
func fileOf(markdown string) string {
	if markdown == "README.md" {
		return "index.html"
	}
	return strings.TrimSuffix(markdown, ".md") + ".html"
}

// link returns where a link of a page leads in the site: to another page, or to the repository.
func (s *site) link(source, to string) string {
	if strings.Contains(to, "://") || strings.HasPrefix(to, "#") {
		return to
	}
	file, anchor, hasAnchor := strings.Cut(to, "#")
	target := path.Join(path.Dir(source), file)
	link := repository + target
	if path.Dir(target) == docs && path.Ext(target) == ".md" {
		link = fileOf(path.Base(target))
	}
	if hasAnchor {
		link += "#" + anchor
	}
	return link
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}
