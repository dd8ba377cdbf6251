package main

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/stagecraft-go/stagecraft/stage/simulation/record"
)

// logName is the name of the file for the log of a run: that of the run is put before the ending.
func logName(file, run string) string {
	ending := filepath.Ext(file)
	return strings.TrimSuffix(file, ending) + "." + slug(run) + ending
}

// slug is a name as files have it.
func slug(name string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }), "-")
}

// writeLog writes the log if there is to be a file.
func (l *lab) writeLog(file string) error {
	if file == "" {
		return nil
	}
	return writeFile(logName(file, l.name), func(w io.Writer) error {
		if filepath.Ext(file) == ".csv" {
			return record.NewCSVWriter(w).WriteAll(l.log)
		}
		return record.NewJSONLWriter(w).WriteAll(l.log)
	})
}
