package sweep

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/files"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/lines"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/printable"
)

// A LineError is an error in a file of results.
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

// A line is a row in a file.
type line struct {
	Study      string            `json:"study"`
	Parameters map[string]string `json:"parameters"`
	Seed       uint64            `json:"seed"`
	Metric     string            `json:"metric"`
	Value      *float64          `json:"value"` // null is a missing value
}

func lineOf(study string, r Row) line {
	l := line{Study: study, Parameters: map[string]string{}, Seed: r.Seed, Metric: r.Metric}
	for i, name := range r.names {
		l.Parameters[name] = r.Point.values[i]
	}
	if !math.IsNaN(r.Value) {
		l.Value = &r.Value
	}
	return l
}

// WriteJSONL writes the rows as JSON lines, in the form of a file of results.
func (r *Result) WriteJSONL(w io.Writer) error { return writeJSONL(w, r.study.Name, r.Rows()) }

func writeJSONL(w io.Writer, study string, rows []Row) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, row := range rows {
		if err := e.Encode(lineOf(study, row)); err != nil {
			return err
		}
	}
	return nil
}

// WriteCSV writes the rows as a table: study, a column for each parameter, seed, metric, value. A
// missing value is an empty cell.
func (r *Result) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	head := []string{"study"}
	for _, p := range r.study.Parameters {
		head = append(head, p.Name)
	}
	if err := out.Write(append(head, "seed", "metric", "value")); err != nil {
		return err
	}
	for _, row := range r.Rows() {
		value := ""
		if !math.IsNaN(row.Value) {
			value = strconv.FormatFloat(row.Value, 'g', -1, 64)
		}
		record := append([]string{r.study.Name}, row.Point.values...)
		if err := out.Write(append(record, strconv.FormatUint(row.Seed, 10), row.Metric, value)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// Merge reads the files of the parts of a study, in any order. Each run counts once, in any file.
// Errors are a [*LineError] for a line that is malformed, is of another study, or contradicts
// another line, and an error for runs that are in no file.
func Merge(s Study, names ...string) (*Result, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	r := newResult(s)
	for _, name := range names {
		if err := r.readFile(name); err != nil {
			return nil, err
		}
	}
	if missing := slices.DeleteFunc(r.needed(), r.has); len(missing) > 0 {
		return nil, fmt.Errorf("sweep: %d runs of study %q are in none of the files, such as %s", len(missing), s.Name, r.runOf(missing[0]))
	}
	if err := r.checkStop(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Result) readFile(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		return &LineError{name, 1 + bytes.Count(text, []byte("\n")), errors.New("the line is cut off: start the sweep that wrote it again")}
	}
	return r.read(name, text)
}

// read adds the rows of a file.
func (r *Result) read(name string, text []byte) error {
	in := lines.NewReader(bytes.NewReader(text))
	for n := 1; ; n++ {
		text, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = r.readLine(name, n, text)
		}
		if err != nil {
			return &LineError{name, n, err}
		}
	}
}

func (r *Result) readLine(name string, n int, text []byte) error {
	k, metric, value, err := r.parse(text)
	if err != nil {
		return err
	}
	return r.set(k, metric, cell{value, true, name, n})
}

// parse reads a line. The error says what is wrong with it.
func (r *Result) parse(text []byte) (k key, metric int, value float64, err error) {
	var l line
	if err := decode(text, &l); err != nil {
		return k, 0, 0, err
	}
	if l.Study != r.study.Name {
		return k, 0, 0, fmt.Errorf("it is of study %q, not of %q", l.Study, r.study.Name)
	}
	p := Point{}
	for _, parameter := range r.study.Parameters {
		v, known := l.Parameters[parameter.Name]
		if !known || len(l.Parameters) != len(r.study.Parameters) || !slices.Contains(parameter.Values, v) {
			return k, 0, 0, fmt.Errorf("the study has no point %v: %q does not take that value", l.Parameters, parameter.Name)
		}
		p.values = append(p.values, v)
	}
	metric = slices.Index(r.study.Metrics, l.Metric)
	switch {
	case len(l.Parameters) != len(r.study.Parameters):
		err = fmt.Errorf("the study has no parameters %v", l.Parameters)
	case metric < 0:
		err = fmt.Errorf("the study has no metric %q", l.Metric)
	case l.Seed < 1 || l.Seed > uint64(r.study.Seeds):
		err = fmt.Errorf("the study has no seed %d: it has 1 to %d", l.Seed, r.study.Seeds)
	}
	if value = math.NaN(); l.Value != nil {
		value = *l.Value
	}
	return key{r.index[p.id()], int(min(l.Seed, math.MaxInt32))}, metric, value, err
}

// decode reads one JSON object. It must have all fields, and no unknown field.
func decode(text []byte, l *line) error {
	if len(text) == 0 || text[0] != '{' {
		return errors.New("want a JSON object")
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	for _, name := range []string{"study", "parameters", "seed", "metric", "value"} {
		if _, ok := fields[name]; !ok {
			return fmt.Errorf("%s is missing", name)
		}
		delete(fields, name)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		return fmt.Errorf("unknown field %q", name)
	}
	return json.Unmarshal(text, l)
}

// An appender adds rows to the end of a file. Nil does nothing.
type appender struct {
	file  *os.File
	study string
}

// append writes the rows of a run at once.
func (a *appender) append(rows []Row) error {
	if a == nil {
		return nil
	}
	var b bytes.Buffer
	if err := writeJSONL(&b, a.study, rows); err != nil {
		return err
	}
	_, err := a.file.Write(b.Bytes())
	return err
}

// open reads the file, removes a line that was cut off, and opens the file for more lines.
func (d *sweeping) open() error {
	if d.File == "" {
		return nil
	}
	f, err := os.OpenFile(d.File, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	if err := d.readOwn(f); err != nil {
		return errors.Join(err, f.Close())
	}
	d.file = &appender{f, d.result.study.Name}
	return nil
}

func (d *sweeping) readOwn(f *os.File) error {
	text, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(text, '\n') + 1
	if err := d.result.read(d.File, text[:whole]); err != nil {
		return err
	}
	if rest := text[whole:]; !d.result.begins(rest) {
		return &LineError{d.File, 1 + bytes.Count(text, []byte("\n")), errors.New("it is no line of this study")}
	}
	for _, k := range d.result.keys() {
		if !d.Shard.has(d.result.study, k) {
			return &LineError{d.File, d.result.first(k).line, fmt.Errorf("%s is not of part %s", d.result.runOf(k), d.Shard)}
		}
	}
	if whole == len(text) {
		return nil
	}
	return f.Truncate(int64(whole))
}

// begins reports whether a text can be the beginning of a line of the study.
func (r *Result) begins(text []byte) bool {
	var b bytes.Buffer
	_ = writeJSONL(&b, r.study.Name, []Row{{}}) // a buffer takes everything
	want, _, _ := strings.Cut(b.String(), `"parameters"`)
	n := min(len(want), len(text))
	return want[:n] == string(text[:n])
}

// close closes the file. If the sweep has ended, close writes the file again, in order.
func (d *sweeping) close(ended bool) error {
	if d.file == nil {
		return nil
	}
	err := d.file.file.Close()
	if ended && err == nil {
		err = files.Write(d.File, d.result.WriteJSONL)
	}
	return err
}
