// Package txtar reads and writes text archives: a comment, and then files, each after a line "--
// NAME --". The format is the same as golang.org/x/tools/txtar's. That package is not used here,
// because every user who tests Stages would have to download all of Go's tools.
package txtar

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// An Archive is a comment and files in their order. It must not be changed while another goroutine
// uses it.
type Archive struct {
	Comment []byte
	Files   []File
}

// A File has a name without white space at its ends, and data that is empty or ends in a newline.
type File struct {
	Name string
	Data []byte
}

// ParseFile parses the archive in the file of that name. The error comes from os.ReadFile.
func ParseFile(name string) (*Archive, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return Parse(data), nil
}

// Parse parses an archive. It accepts every text: the text before the first file is the comment.
// The archive shares no memory with data.
func Parse(data []byte) *Archive {
	a := &Archive{}
	text := &a.Comment
	for line := range bytes.Lines(data) {
		if name := fileName(string(line)); name != "" {
			a.Files = append(a.Files, File{Name: name})
			text = &a.Files[len(a.Files)-1].Data
			continue
		}
		*text = append(*text, line...)
	}
	*text = endLine(*text)
	return a
}

// Format writes an archive. Parse reads the same archive from it, unless a line of the comment or
// of a file looks like the name of a file.
func Format(a *Archive) []byte {
	var b bytes.Buffer
	b.Write(endLine(a.Comment))
	for _, f := range a.Files {
		fmt.Fprintf(&b, "-- %s --\n%s", f.Name, endLine(f.Data))
	}
	return b.Bytes()
}

// fileName returns NAME of a line "-- NAME --", and "" for other lines.
func fileName(line string) string {
	line = strings.TrimRight(line, "\r\n")
	line, begins := strings.CutPrefix(line, "-- ")
	line, ends := strings.CutSuffix(line, " --")
	if !begins || !ends {
		return ""
	}
	return strings.TrimSpace(line)
}

// endLine adds the newline that a text lacks at its end.
func endLine(text []byte) []byte {
	if len(text) == 0 || bytes.HasSuffix(text, []byte("\n")) {
		return text
	}
	return append(bytes.Clone(text), '\n')
}
