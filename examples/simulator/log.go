package main

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/stagecraft-go/stagecraft/stage/lab/record"
)

// logName is the name of the log file of a run: the name of the run is inserted before the
// extension.
func logName(file, run string) string {
	ending := filepath.Ext(file)
	return strings.TrimSuffix(file, ending) + "." + slug(run) + ending
}

// slug is a name in the form of a file name.
func slug(name string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }), "-")
}

// writeLog writes the log if a file is given.
func (l *lab) writeLog(file string) error {
	if file == "" {
		return nil
	}
	return record.WriteFile(logName(file, l.name), func(w io.Writer) error {
		if filepath.Ext(file) == ".csv" {
			return record.NewCSVWriter(w).WriteAll(l.log)
		}
		return record.NewJSONLWriter(w).WriteAll(l.log)
	})
}
