package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/examples/simulator/report"
)

// everything has each kind of chart, with names that are no HTML.
func everything() *report.Report {
	samples := []report.Series{report.Sample("a < b", []float64{1, 2, 3, 7, 7}), report.Sample("c", []float64{0, 12})}
	steps := report.Steps("steps", "Steps", report.Series{Name: "n", Points: []report.Point{{Y: 1}, {X: 5, Y: 3}, {X: 9}}})
	steps.Ceiling = 4
	return &report.Report{
		Title:      "All <kinds>",
		Parameters: []report.Parameter{{"seed", "1"}},
		Sections: []report.Section{{
			Title:  "One",
			Tables: []report.Table{{Title: "T", Head: []string{"name", "x", "y"}, Rows: [][]string{{"first", "1", "22"}, {"b", "333", "4"}}, Note: "note"}},
			Charts: []report.Chart{
				report.Bands("bands", "Bands", report.Series{Name: "up", Points: []report.Point{{X: 1, Y: 1, Half: 0.5}, {X: 2, Y: 4, Half: math.NaN()}}}),
				report.Intervals("intervals", "Intervals", report.Series{Name: "a", Points: []report.Point{{Y: -3, Half: 2}}}, report.Series{Name: "b", Points: []report.Point{{Y: 4, Half: math.Inf(1)}}}),
				report.Lines("lines", "Lines", report.Series{Name: "up", Points: []report.Point{{X: 1, Y: 1, Half: 0.5}, {X: 2, Y: 4}}}, report.Series{Name: "none"}),
				steps,
				report.CDF("cdf", "Shares", samples...),
				report.Histogram("histogram", "Counts", samples...),
				report.Gantt("gantt", "Rows", []string{"waits", "runs"}, report.Row{"job-1", []report.Span{{0, 0, 2}, {1, 2, 5}}}, report.Row{Name: "job-2"}),
			},
		}},
	}
}

func TestText(t *testing.T) {
	var b strings.Builder
	require.NoError(t, everything().WriteText(&b))
	require.Equal(t, `All <kinds>
  seed: 1

T
   name      x    y
   first     1   22
   b       333    4
note
`, b.String())
}

func TestPageIsWholeAndAlwaysTheSame(t *testing.T) {
	var a, b bytes.Buffer
	require.NoError(t, everything().WriteHTML(&a))
	require.NoError(t, everything().WriteHTML(&b))
	require.Equal(t, a.String(), b.String())
	page := a.String()
	require.Equal(t, 7, strings.Count(page, "<svg "))
	require.Equal(t, 7, strings.Count(page, `.csv" href="data:text/csv;base64,`))
	require.Contains(t, page, "<h1>All &lt;kinds&gt;</h1>")
	require.NotContains(t, page, "a < b")
	require.NotContains(t, page, "#000000", "ink has the color of the page's text")
	for _, outside := range []string{"<script", "<link", "src=", "url(", "@import"} {
		require.NotContains(t, page, outside)
	}
}

func TestChartsAreExported(t *testing.T) {
	charts := everything().Sections[0].Charts
	texts := map[string]string{}
	for _, c := range charts {
		texts[c.Name] = string(c.CSV())
	}
	require.Equal(t, "series,x,y,half\nup,1,1,0.5\nup,2,4,0\n", texts["lines"])
	require.Equal(t, "series,x,y,half\na,0,-3,2\nb,0,4,+Inf\n", texts["intervals"])
	require.Equal(t, "series,x,y\nn,0,1\nn,5,3\nn,9,0\n", texts["steps"])
	require.True(t, strings.HasPrefix(texts["gantt"], "name,state,from,to\n"), texts["gantt"])
}

func TestPlotsAreWrittenAsFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plots")
	require.NoError(t, everything().WritePlots(dir))
	for _, name := range []string{"lines", "bands", "intervals", "steps", "cdf", "histogram", "gantt"} {
		data, err := os.ReadFile(filepath.Join(dir, name+".svg"))
		require.NoError(t, err)
		requireXML(t, data)
		f, err := os.Open(filepath.Join(dir, name+".png"))
		require.NoError(t, err)
		_, err = png.Decode(f)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	file := filepath.Join(dir, "lines.svg")
	require.ErrorContains(t, everything().WritePlots(file), "lines.svg")
}

func requireXML(t *testing.T, data []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(data))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}

func TestNothingHappened(t *testing.T) {
	r := &report.Report{Sections: []report.Section{{Charts: []report.Chart{
		report.Lines("a", "A"), report.Steps("b", "B"), report.CDF("c", "C", report.Sample("x", nil)),
		report.Histogram("d", "D", report.Sample("x", nil)), report.Histogram("e", "E"), report.Gantt("f", "F", nil),
		report.Histogram("g", "G", report.Sample("x", []float64{0, 0})), report.CDF("h", "H", report.Sample("x", []float64{0, 0})),
	}}}}
	require.NoError(t, r.WritePlots(t.TempDir()))
}

// Names come from logs, whose authors may want to write lines of their own.
func TestNamesForgeNoLine(t *testing.T) {
	const forged = "a\nforged: all is well\x1b[2J\u202e\u009b31m"
	table := report.Table{Title: forged, Head: []string{"", forged}, Rows: [][]string{{forged, forged}}, Note: forged}
	r := report.Report{Title: forged, Parameters: []report.Parameter{{Name: forged, Value: forged}}, Sections: []report.Section{{Tables: []report.Table{table}}}}
	var b strings.Builder
	require.NoError(t, r.WriteText(&b))
	for line := range strings.Lines(b.String()) {
		line = strings.TrimSuffix(line, "\n")
		require.False(t, strings.HasPrefix(line, "forged"), "%q", line)
		require.Equal(t, -1, strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }), "%q", line)
	}
}
