package load

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/lines"
)

// ReadCSV reads a table. Columns.Header, or the first line, names the columns. Each line must have
// as many cells as there are columns. Errors are [*TraceError]s with the name file; it joins the
// first 100 of them and the number of the others. A line has at most 16 MiB.
func ReadCSV(file string, r io.Reader, c Columns) ([]Row, error) {
	t := newTable(file, c)
	in := bufio.NewReader(lines.Limit(r))
	if err := skipLines(in, c.Skip); err != nil {
		t.fault(c.Skip, "", err)
		return t.done()
	}
	rows := csv.NewReader(in)
	rows.ReuseRecord = true
	header := c.Header
	if header == nil {
		names, err := rows.Read()
		if err != nil {
			t.csvFault(rows, cmp.Or(noHeader(err), err))
			return t.done()
		}
		header = slices.Clone(names)
	}
	rows.FieldsPerRecord = len(header)
	if t.header(header) {
		t.lines(rows, header)
	}
	return t.done()
}

func noHeader(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("want a first line with the names of the columns")
	}
	return nil
}

// skipLines skips a byte order mark, and n lines.
func skipLines(in *bufio.Reader, n int) error {
	if mark, _ := in.Peek(3); string(mark) == "\ufeff" {
		_, _ = in.Discard(3)
	}
	for range n {
		for {
			_, err := in.ReadSlice('\n')
			if err == nil {
				break
			} else if errors.Is(err, io.EOF) {
				return errors.New("the file ends before this line, which is to be skipped")
			} else if !errors.Is(err, bufio.ErrBufferFull) {
				return err
			}
		}
	}
	return nil
}

// header checks that the needed columns exist, each once.
func (t *traceReader) header(names []string) bool {
	for i, name := range names {
		if name != "" && slices.Contains(names[:i], name) {
			t.fault(t.columns.Skip+1, name, errors.New("stands there twice"))
		}
	}
	for _, name := range t.columns.needed() {
		if !slices.Contains(names, name) {
			t.fault(t.columns.Skip+1, name, errMissing)
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
			if header[i] != "" && !t.empty(v) {
				fields[header[i]] = v
			}
		}
		line, _ := r.FieldPos(0)
		t.add(t.columns.Skip+line, fields)
	}
}

// csvFault records an error of the CSV reader. It reports whether the next line can be read.
func (t *traceReader) csvFault(r *csv.Reader, err error) bool {
	line, fault := 1, new(csv.ParseError)
	if errors.As(err, &fault) {
		line, err = fault.Line, fault.Err
	}
	t.fault(t.columns.Skip+line, "", err)
	return errors.Is(err, csv.ErrFieldCount)
}

// ReadJSONL reads a table with one JSON object on each line. Values are numbers, strings and
// booleans; null means that the field is missing. It skips empty lines. Errors are [*TraceError]s
// with the name file; it joins the first 100 of them and the number of the others. A line has at
// most 16 MiB.
func ReadJSONL(file string, r io.Reader, c Columns) ([]Row, error) {
	t := newTable(file, c)
	in := lines.NewReader(r)
	for line := 1; ; line++ {
		text, err := in.Next()
		switch {
		case err == nil && line <= c.Skip:
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
		if errors.Is(err, errNested) && t.nested {
			continue
		} else if err != nil {
			t.fault(line, name, err)
		} else if !t.empty(v) {
			fields[name] = v
		}
	}
	t.addCells(line, text, fields)
	if t.faults.Len() == faults {
		t.add(line, fields)
	}
}

var (
	errNull   = errors.New("want a JSON object, not null")
	errNested = errors.New("want a number, text or a boolean")
)

// scalar is the text of a string, number or boolean; "" for null.
func scalar(raw json.RawMessage) (s string, err error) {
	switch raw[0] {
	case '{', '[':
		return "", errNested
	case '"':
		err = json.Unmarshal(raw, &s)
		return s, err
	case 'n':
		return "", nil
	}
	return string(raw), nil
}
