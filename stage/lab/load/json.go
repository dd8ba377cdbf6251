package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/itchyny/gojq"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/lines"
)

// ReadJSON reads a table that is one JSON array of objects, on any number of lines. It leaves out
// values that are not numbers, strings or booleans; Columns.Cells can read them. It does not use
// Skip and Header. The line of a Row is the line on which its object begins. Errors are
// [*TraceError]s with the name file; it joins the first 100 of them and the number of the others. A
// line has at most 16 MiB.
func ReadJSON(file string, r io.Reader, c Columns) ([]Row, error) {
	t := newTable(file, c)
	t.nested = true
	in := &lineCounter{from: lines.Limit(r)}
	d := json.NewDecoder(in)
	if first, err := d.Token(); err != nil || first != json.Delim('[') {
		t.fault(1, "", errors.New("want a JSON array of objects"))
		return t.done()
	}
	for d.More() {
		var text json.RawMessage
		if err := d.Decode(&text); err != nil {
			t.fault(in.lineOf(d.InputOffset()+syntaxErrorIn(d, err)), "", err)
			return t.done()
		}
		t.addJSON(in.lineOf(d.InputOffset()-int64(len(text))), text)
	}
	if _, err := d.Token(); err != nil {
		t.fault(in.lineOf(d.InputOffset()), "", err)
	} else if _, err := d.Token(); !errors.Is(err, io.EOF) {
		t.fault(in.lineOf(d.InputOffset()), "", errors.New("want nothing behind the array"))
	}
	return t.done()
}

// syntaxErrorIn returns the position of the fault within a value that a decoder could not read. The
// Offset of the decoder's error leaves out what lies between values.
func syntaxErrorIn(d *json.Decoder, err error) int64 {
	fault := new(json.SyntaxError)
	rest, _ := io.ReadAll(d.Buffered())
	if !errors.As(err, &fault) || !errors.As(json.Unmarshal(rest, new(any)), &fault) {
		return 0
	}
	return fault.Offset - 1
}

// A lineCounter knows the lines of bytes that were read from it. The caller must ask for them in
// their order.
type lineCounter struct {
	from   io.Reader
	read   int64
	ends   []int64 // of lines that were read and not asked for yet
	passed int
}

func (c *lineCounter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	for at := 0; at < n; at++ {
		end := bytes.IndexByte(p[at:n], '\n')
		if end < 0 {
			break
		}
		at += end
		c.ends = append(c.ends, c.read+int64(at))
	}
	c.read += int64(n)
	return n, err
}

func (c *lineCounter) lineOf(offset int64) int {
	n, _ := slices.BinarySearch(c.ends, offset)
	c.ends, c.passed = c.ends[n:], c.passed+n
	return c.passed + 1
}

// A cell is a column of Columns.Cells.
type cell struct {
	column  string
	program *gojq.Code
}

// compileCells compiles the expressions of Columns.Cells, by the names of their columns.
func (t *traceReader) compileCells() {
	for _, name := range slices.Sorted(maps.Keys(t.columns.Cells)) {
		p, err := compileCell(t.columns.Cells[name])
		if err != nil {
			t.fault(1, name, err)
			continue
		}
		t.cells = append(t.cells, cell{name, p})
	}
}

// compileCell compiles a jq expression, which sees neither the environment nor modules.
func compileCell(expression string) (*gojq.Code, error) {
	query, err := gojq.Parse(expression)
	if err != nil {
		return nil, err
	}
	return gojq.Compile(query)
}

// addCells adds the columns of Columns.Cells that an object has.
func (t *traceReader) addCells(line int, text []byte, fields map[string]string) {
	if len(t.cells) == 0 {
		return
	}
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		t.fault(line, "", err)
		return
	}
	for _, c := range t.cells {
		v, err := c.value(object)
		if err != nil {
			t.fault(line, c.column, err)
		} else if !t.empty(v) {
			fields[c.column] = v
		}
	}
}

// value returns the text of the only output. It returns "" without an output, and for null.
func (c cell) value(object map[string]any) (string, error) {
	var out []any
	for outputs := c.program.Run(object); ; {
		v, more := outputs.Next()
		if !more {
			break
		}
		if err, failed := v.(error); failed {
			return "", err
		}
		out = append(out, v)
	}
	if len(out) == 0 {
		return "", nil
	}
	if len(out) > 1 {
		return "", fmt.Errorf("has %d values, want one", len(out))
	}
	raw, err := json.Marshal(out[0])
	if err != nil {
		return "", err
	}
	return scalar(raw)
}
