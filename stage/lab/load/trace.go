package load

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/printable"
)

// A Row is one line of a recorded trace.
type Row struct {
	// At is the time of arrival, counted from the start of the trace.
	At time.Duration
	// Numbers are the columns in Columns.Numbers, and the columns in Columns.Optional that the row
	// has. A duration such as 1m30s is in seconds. Nil without such columns.
	Numbers map[string]float64
	// Times are the columns in Columns.Times that the row has, counted from the same start as At;
	// nil without such columns.
	Times map[string]time.Duration
	// Text are all other columns that the row has, unchanged; nil without such columns.
	Text map[string]string
	// Line is the number of the row's first line in its file, from 1.
	Line int
}

// Columns say how to read a table. The zero value reads the times from a column named "at", names
// the columns by the first line, and keeps all others as text.
type Columns struct {
	// At is the column of the times: seconds as a number, a duration such as 1m30s, or a date as in
	// RFC 3339, or as Layout says. All rows must use the same form. Default "at".
	At string
	// Untimed is for tables without times, such as lists of nodes. Their rows keep their order. At
	// is not used then, and Times must be empty.
	Untimed bool
	// Layout is the layout of dates, as for [time.Parse]: [time.DateTime] for 2017-10-03 11:01:07.
	// Dates without a zone are in UTC. Default: RFC 3339.
	Layout string
	// Unit is the unit of times that are plain numbers, such as [time.Microsecond] for traces of
	// Borg. Default: a second.
	Unit time.Duration
	// Relative counts the times from the earliest time in At, as needed for Unix time. Dates are
	// always counted from the earliest date.
	Relative bool
	// Numbers are the columns that must be present in every row and hold finite numbers.
	Numbers []string
	// Optional are the columns whose cells hold finite numbers or are empty.
	Optional []string
	// Times are further columns of times, whose cells may be empty: when a Job began, or ended. They
	// have the form of At.
	Times []string
	// Null are the texts of empty cells, such as None.
	Null []string
	// Cells are further columns of JSON, by name, as jq expressions over the object of a row. Each
	// result is one number, string or boolean, or nothing. Other nested values are left out. CSV
	// does not use them.
	Cells map[string]string
	// Header names the columns of a CSV file without a header line. A column named "" is left out.
	Header []string
	// Skip is the number of lines before the header, or before the first row, that are skipped.
	Skip int
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

// readMoment reads a time.
func (c Columns) readMoment(text string) (timestamp, error) {
	layout := cmp.Or(c.Layout, time.RFC3339Nano)
	if t, err := time.Parse(layout, text); err == nil {
		return timestamp{seconds: t.Unix(), ns: int64(t.Nanosecond()), date: true}, nil
	} else if c.Layout != "" {
		return timestamp{}, fmt.Errorf("%.100q is no date such as %s", text, c.Layout)
	}
	v, err := strconv.ParseFloat(text, 64)
	v *= c.Unit.Seconds()
	if err != nil || !finite(v) {
		if v, err = parseNumber(text); err != nil {
			return timestamp{}, fmt.Errorf("%.100q is no number of seconds, no duration and no date", text)
		}
	}
	if math.Abs(v) > longest {
		return timestamp{}, fmt.Errorf("%.100q is too many seconds", text)
	}
	whole := math.Floor(v)
	return timestamp{seconds: int64(whole), ns: int64(math.Round((v - whole) * 1e9))}, nil
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
