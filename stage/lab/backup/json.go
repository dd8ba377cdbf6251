package backup

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/stage"
)

// json reads JSON values, one after another.
func (r *reader) json(name string, data []byte) {
	places := places{name: name, data: data, line: 1}
	in := json.NewDecoder(bytes.NewReader(data))
	missing := 0 // the objects that the first line of a Backup announces and the file does not have
	for {
		var raw json.RawMessage
		if err := in.Decode(&raw); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			r.refuse(places.at(faultOffset(err, in)), "%w", err)
			return
		}
		begin := int(in.InputOffset()) - len(raw)
		var head header
		if err := json.Unmarshal(raw, &head); err != nil {
			r.refuse(places.at(begin), "this is no object: %w", err)
			continue
		}
		switch {
		case head.isBackup():
			missing += r.head(head, places.at(begin))
		case head.isList():
			r.listed(raw, head, begin, &places)
		default:
			missing--
			r.object(raw, list{}, places.at(begin))
		}
	}
	if missing > 0 {
		r.refuse(stage.Position{File: name}, "the file is cut off: %d objects are missing", missing)
	}
}

// header has the fields that tell an object from a List and from the first line of a Backup.
type header struct {
	APIVersion      string          `json:"apiVersion"`
	Kind            string          `json:"kind"`
	Items           json.RawMessage `json:"items"`
	Objects         int             `json:"objects"`
	ResourceVersion string          `json:"resourceVersion"`
	Time            time.Time       `json:"time"`
}

func (h header) isBackup() bool {
	return h.Kind == kind && strings.HasPrefix(h.APIVersion, "stagecraft-go.github.io/")
}

func (h header) isList() bool { return strings.HasSuffix(h.Kind, "List") && h.Items != nil }

// head reads the first line of a Backup, and returns how many objects it announces.
func (r *reader) head(h header, at stage.Position) int {
	if h.APIVersion != apiVersion {
		r.refuse(at, "a Backup of %s; this version reads %s", h.APIVersion, apiVersion)
		return 0
	}
	r.result.Time, r.result.ResourceVersion = later(r.result.Time, h.Time), h.ResourceVersion
	return h.Objects
}

// listed reads the items of a List that begins at an offset.
func (r *reader) listed(raw []byte, h header, begin int, places *places) {
	from := list{h.APIVersion, strings.TrimSuffix(h.Kind, "List")}
	in := json.NewDecoder(bytes.NewReader(raw))
	_, _ = in.Token() // the syntax was checked
	for in.More() {
		if field, _ := in.Token(); field != "items" {
			var skipped json.RawMessage
			_ = in.Decode(&skipped)
			continue
		}
		_, _ = in.Token()
		for in.More() {
			var item json.RawMessage
			_ = in.Decode(&item)
			r.object(item, from, places.at(begin+int(in.InputOffset())-len(item)))
		}
		_, _ = in.Token()
	}
}

func faultOffset(err error, in *json.Decoder) int {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return math.MaxInt // at the end
	case errors.As(err, &syntax):
		return int(syntax.Offset)
	}
	return int(in.InputOffset())
}

// places finds lines and columns of offsets that only grow.
type places struct {
	name  string
	data  []byte
	done  int // the offset up to which lines are counted
	line  int
	start int // the offset of the line
}

func (p *places) at(offset int) stage.Position {
	offset = min(offset, len(p.data))
	for ; p.done < offset; p.done++ {
		if p.data[p.done] == '\n' {
			p.line++
			p.start = p.done + 1
		}
	}
	return stage.Position{File: p.name, Line: p.line, Column: offset - p.start + 1}
}
