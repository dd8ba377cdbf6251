package record

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/files"
)

// WriteFile puts what a function writes into a file, such as a log or a report, completely or not
// at all. If anything fails, or the program is killed, an old file with the name stays as it was.
// It writes a temporary file in the same directory, syncs it and renames it.
func WriteFile(name string, write func(io.Writer) error) error { return files.Write(name, write) }

// A Writer writes records to a file. It must not be used from several goroutines at once.
type Writer struct {
	write func(Record) error
	flush func() error
}

// Write writes a record. It can be Options.Sink. Records are buffered until Flush.
func (w *Writer) Write(r Record) error { return w.write(r) }

// Flush writes buffered records. It must be called at the end.
func (w *Writer) Flush() error { return w.flush() }

// WriteAll writes all records of a log and flushes.
func (w *Writer) WriteAll(l Log) error {
	for _, r := range l {
		if err := w.Write(r); err != nil {
			return err
		}
	}
	return w.Flush()
}

// NewJSONLWriter returns a writer of lines of JSON.
func NewJSONLWriter(to io.Writer) *Writer {
	buffer := bufio.NewWriter(to)
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	return &Writer{
		write: func(r Record) error { return encoder.Encode(lineOf(r)) },
		flush: buffer.Flush,
	}
}

// NewCSVWriter returns a writer of CSV. It writes the header before the first record, or in Flush
// if there is no record.
func NewCSVWriter(to io.Writer) *Writer {
	out := csv.NewWriter(to)
	begun := false
	write := func(fields []string) error {
		if !begun {
			begun = true
			if err := out.Write(columns[:]); err != nil {
				return err
			}
		}
		if fields == nil {
			return nil
		}
		return out.Write(fields)
	}
	return &Writer{
		write: func(r Record) error { return write(lineOf(r).fields()) },
		flush: func() error {
			if err := write(nil); err != nil {
				return err
			}
			out.Flush()
			return out.Error()
		},
	}
}

// A line is a record in the format of a file.
type line struct {
	NS        int64   `json:"ns"`
	Kind      string  `json:"kind"`
	Namespace string  `json:"namespace,omitempty"`
	Name      string  `json:"name"`
	UID       string  `json:"uid,omitempty"`
	From      string  `json:"from,omitempty"`
	Stage     string  `json:"stage,omitempty"`
	To        string  `json:"to"`
	Seed      string  `json:"seed,omitempty"`
	Owner     string  `json:"owner,omitempty"`
	Node      string  `json:"node,omitempty"`
	Amounts   Amounts `json:"amounts,omitempty"`
}

// columns are the names of the fields, as in CSV.
var columns = [...]string{"ns", "kind", "namespace", "name", "uid", "from", "stage", "to", "seed", "owner", "node", "amounts"}

func lineOf(r Record) line {
	return line{
		NS: r.Time.UnixNano(), Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, UID: r.UID, From: r.From,
		Stage: r.Stage, To: r.To, Seed: r.Seed, Owner: r.Owner, Node: r.Node, Amounts: r.Amounts,
	}
}

func (l line) record() Record {
	return Record{
		Time: time.Unix(0, l.NS).UTC(), Kind: l.Kind, Namespace: l.Namespace, Name: l.Name, UID: l.UID, From: l.From,
		Stage: l.Stage, To: l.To, Seed: l.Seed, Owner: l.Owner, Node: l.Node, Amounts: l.Amounts,
	}
}

// fields are the values in the order of columns.
func (l line) fields() []string {
	return []string{
		strconv.FormatInt(l.NS, 10), l.Kind, l.Namespace, l.Name, l.UID, l.From,
		l.Stage, l.To, l.Seed, l.Owner, l.Node, l.Amounts.String(),
	}
}

// String prints cpu=0.5;memory=1e+09, ordered by name.
func (a Amounts) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(a)) {
		parts = append(parts, name+"="+strconv.FormatFloat(a[name], 'g', -1, 64))
	}
	return strings.Join(parts, ";")
}
