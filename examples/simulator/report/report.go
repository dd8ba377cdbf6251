package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/stagecraft-go/stagecraft/stage/lab/record"
)

// A Report is a page.
type Report struct {
	Title string
	Lead  string // the subject, in a sentence or two
	// Parameters are everything that is needed to reproduce the numbers.
	Parameters []Parameter
	Sections   []Section
}

// shownParameters are on the page at once; the others are behind a click.
const shownParameters = 14

// Shown are the first Parameters, which a page shows at once.
func (r *Report) Shown() []Parameter { return r.Parameters[:min(len(r.Parameters), shownParameters)] }

// Folded are the other Parameters.
func (r *Report) Folded() []Parameter { return r.Parameters[len(r.Shown()):] }

// A Parameter is an input of the run.
type Parameter struct{ Name, Value string }

// A Section is a part of a page. It may have no title.
type Section struct {
	Title, Text string
	Tables      []Table
	Charts      []Chart
}

// A Table has a first column of names; the others are right-aligned.
type Table struct {
	Title string
	Head  []string
	Rows  [][]string
	Note  string
}

// WriteText writes everything except the charts.
func (r *Report) WriteText(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n", printable(r.Title))
	for _, p := range r.Parameters {
		fmt.Fprintf(&b, "  %s: %s\n", printable(p.Name), printable(p.Value))
	}
	for _, s := range r.Sections {
		for _, t := range s.Tables {
			t.writeText(&b)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (t Table) writeText(b *bytes.Buffer) {
	b.WriteByte('\n')
	if t.Title != "" {
		fmt.Fprintln(b, printable(t.Title))
	}
	tw := tabwriter.NewWriter(b, 0, 0, 3, ' ', tabwriter.AlignRight)
	width, rows := 0, [][]string{}
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		rows = append(rows, printableAll(row))
	}
	for _, row := range rows {
		width = max(width, len(row[0]))
	}
	for _, row := range rows {
		fmt.Fprintf(tw, "%-*s\t%s\t\n", width, row[0], strings.Join(row[1:], "\t"))
	}
	_ = tw.Flush() // a buffer takes everything
	if t.Note != "" {
		fmt.Fprintln(b, printable(t.Note))
	}
}

// printable replaces characters that would break a line or control the terminal, because names can
// come from a log.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

func printableAll(row []string) []string {
	all := make([]string, len(row))
	for i, cell := range row {
		all[i] = printable(cell)
	}
	return all
}

//go:embed page.html
var page string

// WriteHTML writes the page, which contains its charts.
func (r *Report) WriteHTML(w io.Writer) error {
	t, err := template.New("page").Funcs(template.FuncMap{"svg": inline, "download": download}).Parse(page)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, r); err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

// inline draws a chart for a page.
func inline(c Chart) (template.HTML, error) {
	data, err := c.svg()
	return template.HTML(data), err // made by us from escaped text
}

// WritePlots writes each chart into a folder, which it creates: as NAME.svg and NAME.png, and its
// content as NAME.csv.
func (r *Report) WritePlots(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, s := range r.Sections {
		for _, c := range s.Charts {
			if err := c.write(dir); err != nil {
				return fmt.Errorf("chart %s: %w", c.Name, err)
			}
		}
	}
	return nil
}

func (c Chart) write(dir string) error {
	for ending, draw := range map[string]func() ([]byte, error){
		".svg": c.standaloneSVG, ".png": c.png, ".csv": func() ([]byte, error) { return c.CSV(), nil },
	} {
		data, err := draw()
		if err != nil {
			return err
		}
		err = record.WriteFile(filepath.Join(dir, c.Name+ending), func(w io.Writer) error {
			_, err := w.Write(data)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
