package load

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/lines"
)

// A traceReader makes Rows of the lines of a file, and collects all errors.
type traceReader struct {
	file    string
	columns Columns
	rows    []Row
	times   []timestamp   // of the rows; empty if they are untimed
	further []furtherTime // of the columns Times
	faults  lines.FirstFaults
	cells   []cell // of Columns.Cells
	nested  bool   // values that are objects or arrays are left out, not refused
}

// A furtherTime is a cell of a column of Times, until it is known when the trace starts.
type furtherTime struct {
	line   int
	column string
	at     timestamp
	to     map[string]time.Duration
}

func newTable(file string, c Columns) *traceReader {
	c.At = cmp.Or(c.At, "at")
	c.Unit = cmp.Or(c.Unit, time.Second)
	t := &traceReader{file: file, columns: c, nested: len(c.Cells) > 0}
	t.compileCells()
	if c.Untimed && len(c.Times) > 0 {
		t.fault(1, c.Times[0], errors.New("is a time, and the table is untimed"))
	}
	return t
}

func (t *traceReader) fault(line int, column string, err error) {
	t.faults.Add(&TraceError{File: t.file, Line: line, Column: column, Err: err})
}

// empty reports whether a cell holds nothing.
func (t *traceReader) empty(text string) bool {
	return text == "" || slices.Contains(t.columns.Null, text)
}

// needed are the columns that the table must have.
func (c Columns) needed() []string {
	all := slices.Concat(c.Numbers, c.Optional, c.Times)
	if c.Untimed {
		return all
	}
	return append([]string{c.At}, all...)
}

var errMissing = errors.New("is missing")

// add reads one line. Fields are the cells that are not empty.
func (t *traceReader) add(line int, fields map[string]string) {
	r := Row{Line: line, Text: fields}
	t.numbers(&r)
	var at timestamp
	if !t.columns.Untimed {
		var ok bool
		if at, ok = t.at(&r); !ok {
			return
		}
	}
	if t.faults.Len() > 0 && len(t.rows) > 0 {
		return // no row of a file with faults is returned
	}
	for _, name := range t.columns.needed() {
		delete(fields, name)
	}
	if len(fields) == 0 {
		r.Text = nil // an empty map takes more than the row
	}
	t.rows = append(t.rows, r)
	if !t.columns.Untimed {
		t.times = append(t.times, at)
	}
}

// numbers reads the columns of numbers.
func (t *traceReader) numbers(r *Row) {
	if n := len(t.columns.Numbers) + len(t.columns.Optional); n > 0 {
		r.Numbers = make(map[string]float64, n)
	}
	for _, name := range t.columns.Numbers {
		if r.Text[name] == "" {
			t.fault(r.Line, name, errMissing)
		}
	}
	for _, names := range [][]string{t.columns.Numbers, t.columns.Optional} {
		for _, name := range names {
			text := r.Text[name]
			if text == "" {
				continue
			}
			v, err := parseNumber(text)
			if err != nil {
				t.fault(r.Line, name, err)
			}
			r.Numbers[name] = v
		}
	}
}

// at reads the columns of times. It reports whether the row has a time.
func (t *traceReader) at(r *Row) (timestamp, bool) {
	text := r.Text[t.columns.At]
	if text == "" {
		t.fault(r.Line, t.columns.At, errMissing)
		return timestamp{}, false
	}
	at, err := t.timestampOf(text)
	if err != nil {
		t.fault(r.Line, t.columns.At, err)
		return timestamp{}, false
	}
	for _, name := range t.columns.Times {
		text := r.Text[name]
		if text == "" {
			continue
		}
		m, err := t.timestampOf(text)
		if err == nil && m.date != at.date {
			err = fmt.Errorf("%.100q is a %s, and that of %s is a %s", text, m.form(), t.columns.At, at.form())
		}
		if err != nil {
			t.fault(r.Line, name, err)
			continue
		}
		if r.Times == nil {
			r.Times = make(map[string]time.Duration, len(t.columns.Times))
		}
		t.further = append(t.further, furtherTime{r.Line, name, m, r.Times})
	}
	return at, true
}

// timestampOf reads a time, which must have the same form as the first one.
func (t *traceReader) timestampOf(text string) (timestamp, error) {
	m, err := t.columns.readMoment(text)
	if err == nil && len(t.times) > 0 && m.date != t.times[0].date {
		err = fmt.Errorf("%.100q is a %s, but line %d has a %s", text, m.form(), t.rows[0].Line, t.times[0].form())
	}
	return m, err
}

// done returns the rows in the order of their times.
func (t *traceReader) done() ([]Row, error) {
	if t.faults.Len() > 0 || len(t.times) == 0 {
		return t.rowsOrFaults()
	}
	var zero timestamp
	if t.columns.Relative || t.times[0].date {
		zero = slices.MinFunc(t.times, timestamp.compare)
	}
	for i, m := range t.times {
		if m.seconds-zero.seconds > longest || m.compare(zero) < 0 {
			t.fault(t.rows[i].Line, t.columns.At, errors.New("want a time within 285 years from the start of the trace"))
		}
		t.rows[i].At = m.since(zero)
	}
	for _, f := range t.further {
		if d := f.at.seconds - zero.seconds; d > longest || d < -longest {
			t.fault(f.line, f.column, errors.New("want a time within 285 years from the start of the trace"))
		}
		f.to[f.column] = f.at.since(zero)
	}
	slices.SortStableFunc(t.rows, func(a, b Row) int { return cmp.Compare(a.At, b.At) })
	return t.rowsOrFaults()
}

func (t *traceReader) rowsOrFaults() ([]Row, error) {
	if t.faults.Len() > 0 {
		return nil, t.faults.Err()
	}
	return t.rows, nil
}
