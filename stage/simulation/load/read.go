package load

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/stagecraft-go/stagecraft/internal/lines"
)

// ReadCSV reads a trace whose first line names the columns. Errors are [*TraceError]s with the name
// file;
// the first 100 of them and the number of the others are joined. A line has at most 16 MiB.
func ReadCSV(file string, r io.Reader, c Columns) ([]Row, error) {
	t := newTable(file, c)
	rows := csv.NewReader(lines.Limit(r))
	rows.ReuseRecord = true
	header, err := rows.Read()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("want a first line with the names of the columns")
		}
		t.csvFault(rows, err)
		return t.done()
	}
	header = slices.Clone(header)
	if t.header(header) {
		t.lines(rows, header)
	}
	return t.done()
}

// header checks that the needed columns exist, each once.
func (t *traceReader) header(names []string) bool {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			t.fault(1, name, errors.New("stands there twice"))
		}
	}
	for _, name := range append([]string{t.columns.At}, t.columns.Numbers...) {
		if !slices.Contains(names, name) {
			t.fault(1, name, errMissing)
		}
	}
	return t.faults.Len() == 0
}

func (t *traceReader) lines(r *csv.Reader, header []string) {
	for {
		values, err := r.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			if !t.csvFault(r, err) {
				return
			}
			continue
		}
		fields := make(map[string]string, len(values))
		for i, v := range values {
			fields[header[i]] = v
		}
		line, _ := r.FieldPos(0)
		t.add(line, fields)
	}
}

// csvFault records an error of the CSV reader. It reports whether the next line can be read.
func (t *traceReader) csvFault(r *csv.Reader, err error) bool {
	line, fault := 1, new(csv.ParseError)
	if errors.As(err, &fault) {
		line, err = fault.Line, fault.Err
	}
	t.fault(line, "", err)
	return errors.Is(err, csv.ErrFieldCount)
}

// ReadJSONL reads a trace with one JSON object on each line, whose values are numbers, text and
// booleans; null means that the field is missing. Empty lines are skipped. Errors are
// [*TraceError]s with the name file; the first 100 of them and the number of the others are
// joined. A line has at most 16 MiB.
func ReadJSONL(file string, r io.Reader, c Columns) ([]Row, error) {
	t := newTable(file, c)
	in := lines.NewReader(r)
	for line := 1; ; line++ {
		text, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			return t.done()
		case err != nil:
			t.fault(line, "", err)
			if !errors.Is(err, lines.ErrTooLong) {
				return t.done()
			}
		case len(text) > 0:
			t.addJSON(line, text)
		}
	}
}

func (t *traceReader) addJSON(line int, text []byte) {
	if t.faults.Full() && text[0] != '{' {
		t.fault(line, "", errNull) // it is only counted
		return
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil || object == nil {
		t.fault(line, "", cmp.Or(err, errNull))
		return
	}
	fields, faults := make(map[string]string, len(object)), t.faults.Len()
	for _, name := range slices.Sorted(maps.Keys(object)) {
		v, err := scalar(object[name])
		if err != nil {
			t.fault(line, name, err)
		} else if v != "" {
			fields[name] = v
		}
	}
	if t.faults.Len() == faults {
		t.add(line, fields)
	}
}

var errNull = errors.New("want a JSON object, not null")

// scalar is the text of a string, number or boolean; "" for null.
func scalar(raw json.RawMessage) (s string, err error) {
	switch raw[0] {
	case '{', '[':
		return "", errors.New("want a number, text or a boolean")
	case '"':
		err = json.Unmarshal(raw, &s)
		return s, err
	case 'n':
		return "", nil
	}
	return string(raw), nil
}
