package load

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/internal/printable"
)

// A Row is one line of a recorded trace.
type Row struct {
	// At is the time of arrival, counted from the start of the trace.
	At time.Duration
	// Numbers are the columns that [Columns] lists as numbers. A duration such as 1m30s is given in
	// seconds. Nil if there are none.
	Numbers map[string]float64
	// Text are all other columns, unchanged; nil if there are none.
	Text map[string]string
	// Line is the number of the row's first line in its file, from 1.
	Line int
}

// Columns say how to read a trace. The zero value reads the times from a column named "at".
type Columns struct {
	// At is the column of the times: seconds as a number, a duration such as 1m30s, or a date as in
	// RFC 3339. All rows must use the same form. Default "at".
	At string
	// Relative counts the times from the earliest one, as needed for Unix time. Dates are always
	// counted from the earliest one.
	Relative bool
	// Numbers are the columns that must be present in every row and hold finite numbers.
	Numbers []string
}

// Arrivals returns the times of rows, for [Schedule].
func Arrivals(rows []Row) []time.Duration {
	times := make([]time.Duration, len(rows))
	for i, r := range rows {
		times[i] = r.At
	}
	return times
}

// Column returns the numbers of a column as a distribution: draws have the same sizes as the trace,
// in another order.
func Column(rows []Row, name string) Values {
	values := make(Values, len(rows))
	for i, r := range rows {
		values[i] = r.Numbers[name]
	}
	return values
}

// A TraceError is an error in a trace file.
type TraceError struct {
	File   string
	Line   int    // from 1
	Column string // the name; "" if the error is about the whole line
	Err    error
}

// Error prints `jobs.csv:3: column "size": what is wrong`.
func (e *TraceError) Error() string {
	place := fmt.Sprintf("%s:%d: ", e.File, e.Line)
	if e.Column != "" {
		place += fmt.Sprintf("column %q: ", e.Column)
	}
	return place + printable.Error(e.Err)
}

// Unwrap returns Err.
func (e *TraceError) Unwrap() error { return e.Err }

// A traceReader makes Rows of the lines of a file, and collects all errors.
type traceReader struct {
	file    string
	columns Columns
	rows    []Row
	times   []timestamp // of the rows
	faults  position.FirstFaults
}

func newTable(file string, c Columns) *traceReader {
	c.At = cmp.Or(c.At, "at")
	return &traceReader{file: file, columns: c}
}

func (t *traceReader) fault(line int, column string, err error) {
	t.faults.Add(&TraceError{File: t.file, Line: line, Column: column, Err: err})
}

var errMissing = errors.New("is missing")

// add reads one line.
func (t *traceReader) add(line int, fields map[string]string) {
	r := Row{Line: line, Text: fields}
	if len(t.columns.Numbers) > 0 {
		r.Numbers = make(map[string]float64, len(t.columns.Numbers))
	}
	for _, name := range t.columns.Numbers {
		var err error
		if r.Numbers[name], err = readNumber(fields, name); err != nil {
			t.fault(line, name, err)
		}
	}
	m, err := t.timestampOf(fields[t.columns.At])
	if err != nil {
		t.fault(line, t.columns.At, err)
		return
	}
	if t.faults.Len() > 0 && len(t.rows) > 0 {
		return // no row of a file with faults is returned
	}
	delete(fields, t.columns.At)
	for _, name := range t.columns.Numbers {
		delete(fields, name)
	}
	if len(fields) == 0 {
		r.Text = nil // an empty map takes more than the row
	}
	t.rows, t.times = append(t.rows, r), append(t.times, m)
}

// timestampOf reads a time, which must have the same form as the first one.
func (t *traceReader) timestampOf(text string) (timestamp, error) {
	m, err := readMoment(text)
	if err == nil && len(t.times) > 0 && m.date != t.times[0].date {
		err = fmt.Errorf("%.100q is a %s, but line %d has a %s", text, m.form(), t.rows[0].Line, t.times[0].form())
	}
	return m, err
}

// done returns the rows in the order of their times.
func (t *traceReader) done() ([]Row, error) {
	if t.faults.Len() > 0 || len(t.rows) == 0 {
		return nil, t.faults.Err()
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
	if t.faults.Len() > 0 {
		return nil, t.faults.Err()
	}
	slices.SortStableFunc(t.rows, func(a, b Row) int { return cmp.Compare(a.At, b.At) })
	return t.rows, nil
}

// longest is about the number of seconds that a Duration can hold.
const longest = 9e9

// A timestamp is a time in seconds and nanoseconds, so that dates far from 1970 are exact.
type timestamp struct {
	seconds int64
	ns      int64
	date    bool
}

func (m timestamp) form() string {
	if m.date {
		return "date"
	}
	return "number of seconds"
}

func (m timestamp) compare(other timestamp) int {
	return cmp.Or(cmp.Compare(m.seconds, other.seconds), cmp.Compare(m.ns, other.ns))
}

func (m timestamp) since(zero timestamp) time.Duration {
	return time.Duration(m.seconds-zero.seconds)*time.Second + time.Duration(m.ns-zero.ns)
}

func readMoment(text string) (timestamp, error) {
	if text == "" {
		return timestamp{}, errMissing
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return timestamp{seconds: t.Unix(), ns: int64(t.Nanosecond()), date: true}, nil
	}
	v, err := parseNumber(text)
	switch {
	case err != nil:
		return timestamp{}, fmt.Errorf("%.100q is no number of seconds, no duration and no date", text)
	case math.Abs(v) > longest:
		return timestamp{}, fmt.Errorf("%.100q is too many seconds", text)
	}
	whole := math.Floor(v)
	return timestamp{seconds: int64(whole), ns: int64(math.Round((v - whole) * 1e9))}, nil
}

func readNumber(fields map[string]string, name string) (float64, error) {
	if text := fields[name]; text != "" {
		return parseNumber(text)
	}
	return 0, errMissing
}

// parseNumber reads a number, or a duration as seconds.
func parseNumber(text string) (float64, error) {
	if v, err := strconv.ParseFloat(text, 64); err == nil && finite(v) {
		return v, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		return d.Seconds(), nil
	}
	return 0, fmt.Errorf("%.100q is no finite number and no duration", text)
}
