package report

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"html/template"
	"strconv"
)

// CSV returns the content of the chart as a table: a row for each point, or for each span of a
// Gantt chart. A half is the half-width of an error bar or a band; its column exists if any point
// has one.
func (c Chart) CSV() []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.WriteAll(c.cells()) // a buffer takes everything
	return b.Bytes()
}

func (c Chart) cells() [][]string {
	if c.kind == gantt {
		rows := [][]string{{"name", "state", "from", "to"}}
		for _, r := range c.rows {
			for _, s := range r.Spans {
				rows = append(rows, []string{r.Name, c.states[s.State], cell(s.From), cell(s.To)})
			}
		}
		return rows
	}
	rows := [][]string{{"series", "x", "y"}}
	halves := c.hasHalves()
	if halves {
		rows[0] = append(rows[0], "half")
	}
	for _, s := range c.series {
		for _, p := range s.Points {
			row := []string{s.Name, cell(p.X), cell(p.Y)}
			if halves {
				row = append(row, cell(p.Half))
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func (c Chart) hasHalves() bool {
	for _, s := range c.series {
		for _, p := range s.Points {
			if p.Half > 0 {
				return true
			}
		}
	}
	return false
}

func cell(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// download is the address of a file that is part of the page.
func download(c Chart) template.URL {
	return template.URL("data:text/csv;base64," + base64.StdEncoding.EncodeToString(c.CSV())) //nolint:gosec // made by us
}
