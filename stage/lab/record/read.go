package record

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/lines"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/printable"
)

// A LineError is an error in a log file.
type LineError struct {
	File string
	Line int // from 1
	Err  error
}

// Error prints file:line: what is wrong.
func (e *LineError) Error() string {
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, printable.Error(e.Err))
}

// Unwrap returns Err.
func (e *LineError) Unwrap() error { return e.Err }

// Collect reads a whole log. If there are errors it returns the first 100 of them and the number of
// the others, joined, and no log.
func Collect(records iter.Seq2[Record, error]) (Log, error) {
	var log Log
	var faults lines.FirstFaults
	for r, err := range records {
		if err != nil {
			faults.Add(err)
			log = nil
		} else if faults.Len() == 0 {
			log = append(log, r)
		}
	}
	return log, faults.Err()
}

// ReadJSONL reads JSON lines, one record at a time. A line with an error gives a [*LineError], and
// reading continues with the next line. Empty lines are skipped. A line has at most 16 MiB. Errors
// name the file.
func ReadJSONL(file string, from io.Reader) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		in := lines.NewReader(from)
		for n := 1; ; n++ {
			text, err := in.Next()
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				if !yield(withLine(file, n)(Record{}, err)) || !errors.Is(err, lines.ErrTooLong) {
					return
				}
			case len(text) > 0 && !yield(withLine(file, n)(readJSON(text))):
				return
			}
		}
	}
}

// withLine returns a function that adds the file and line to an error.
func withLine(file string, n int) func(Record, error) (Record, error) {
	return func(r Record, err error) (Record, error) {
		if err != nil {
			return Record{}, &LineError{File: file, Line: n, Err: err}
		}
		return r, nil
	}
}

func readJSON(text []byte) (Record, error) {
	if text[0] != '{' {
		return Record{}, errNoObject // before a decoder is made: a file may have nothing else
	}
	l := line{NS: math.MinInt64}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&l); err != nil {
		return Record{}, err
	}
	if decoder.More() {
		return Record{}, errors.New("want one JSON object in a line")
	}
	if l.NS == math.MinInt64 {
		return Record{}, errors.New("ns is missing")
	}
	return l.record(), l.check()
}

var errNoObject = errors.New("want a JSON object")

// check returns an error if a required field is missing.
func (l line) check() error {
	for i, v := range []string{l.Kind, l.Name, l.To} {
		if v == "" {
			return fmt.Errorf("%s is missing", [...]string{"kind", "name", "to"}[i])
		}
	}
	return nil
}

// ReadCSV reads CSV, one record at a time. The first line names the columns, in any order. A line
// with an error gives a [*LineError], and reading continues with the next line if its beginning can
// be found. A last line without a line break is an error, because it can be half a line. Errors name
// the file.
func ReadCSV(file string, from io.Reader) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		end := &ending{from: lines.Limit(from)}
		in := csv.NewReader(end)
		in.ReuseRecord = true
		header, err := in.Read()
		if err == nil {
			err = checkHeader(header)
		}
		if err == nil && end.cuts(in) {
			err = errCutOff
		} else if errors.Is(err, io.EOF) {
			err = errors.New("want a first line with the names of the columns")
		}
		if err != nil {
			yield(withLine(file, 1)(Record{}, err))
			return
		}
		readRows(in, end, slices.Clone(header), file, yield)
	}
}

// ending remembers the last byte of what was read: a row without a line break at its end can be half
// a row, whose last field looks whole.
type ending struct {
	from io.Reader
	size int64
	last byte
}

// Read implements io.Reader.
func (e *ending) Read(p []byte) (int, error) {
	n, err := e.from.Read(p)
	if e.size += int64(n); n > 0 {
		e.last = p[n-1]
	}
	return n, err
}

// cuts reports whether the row that was read last has no line break.
func (e *ending) cuts(in *csv.Reader) bool { return in.InputOffset() == e.size && e.last != '\n' }

var errCutOff = errors.New("the line is cut off: a row ends with a line break")

func readRows(in *csv.Reader, end *ending, header []string, file string, yield func(Record, error) bool) {
	for {
		values, err := in.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			n, cause := csvFault(err)
			if !yield(withLine(file, n)(Record{}, cause)) || !errors.Is(err, csv.ErrFieldCount) {
				return
			}
			continue
		}
		n, _ := in.FieldPos(0)
		if end.cuts(in) {
			yield(withLine(file, n)(Record{}, errCutOff))
			return
		}
		if !yield(withLine(file, n)(readFields(header, values))) {
			return
		}
	}
}

func csvFault(err error) (int, error) {
	if fault := new(csv.ParseError); errors.As(err, &fault) {
		return fault.Line, fault.Err
	}
	return 1, err
}

func checkHeader(names []string) error {
	for i, name := range names {
		if !slices.Contains(columns[:], name) || slices.Contains(names[:i], name) {
			return fmt.Errorf("column %q is not one of %s, each once", name, strings.Join(columns[:], ", "))
		}
	}
	for _, name := range []string{"ns", "kind", "name", "to"} {
		if !slices.Contains(names, name) {
			return fmt.Errorf("column %q is missing", name)
		}
	}
	return nil
}

// readFields makes a record of the values of a line, in the order of the header.
func readFields(header, values []string) (Record, error) {
	var l line
	text := map[string]*string{
		"kind": &l.Kind, "namespace": &l.Namespace, "name": &l.Name, "uid": &l.UID, "from": &l.From,
		"stage": &l.Stage, "to": &l.To, "seed": &l.Seed, "owner": &l.Owner, "node": &l.Node,
	}
	var err error
	for i, name := range header {
		if !utf8.ValidString(values[i]) {
			return Record{}, fmt.Errorf("%s: is no UTF-8 text", name)
		}
		switch name {
		case "ns":
			if l.NS, err = strconv.ParseInt(values[i], 10, 64); err != nil {
				return Record{}, fmt.Errorf("ns: %.100q is no whole number", values[i])
			}
		case "amounts":
			if l.Amounts, err = parseAmounts(values[i]); err != nil {
				return Record{}, err
			}
		default:
			*text[name] = strings.Clone(values[i])
		}
	}
	return l.record(), l.check()
}

func parseAmounts(text string) (Amounts, error) {
	if text == "" {
		return nil, nil
	}
	a := Amounts{}
	for part := range strings.SplitSeq(text, ";") {
		name, number, ok := strings.Cut(part, "=")
		n, err := strconv.ParseFloat(number, 64)
		if !ok || name == "" || err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			return nil, fmt.Errorf("amounts: %.100q is not like cpu=0.5", part)
		}
		a[name] = n
	}
	return a, nil
}
