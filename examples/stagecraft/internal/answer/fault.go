package answer

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/stagecraft-go/stagecraft/examples/stagecraft/internal/manifests"
	"github.com/stagecraft-go/stagecraft/examples/stagecraft/internal/stages"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/staged"
)

// The names of the texts in faults.
const (
	StagesFile  = "stages"
	ObjectsFile = "objects"
	RolloutFile = "rollout"
)

// A Fault is what is wrong with a text, and where.
type Fault struct {
	stages.Finding
	Span
}

// A Span is a part of a text from its first character to the end of the line, in UTF-16 code units as JavaScript
// counts. The zero value is no part.
type Span struct {
	From int `json:"from,omitempty"`
	To   int `json:"to,omitempty"`
}

// spanAt returns the rest of a line from a place. Lines and columns count from 1, columns in bytes.
func spanAt(text string, line, column int) Span {
	if line < 1 {
		return Span{}
	}
	start := 0
	for ; line > 1; line-- {
		next := strings.IndexByte(text[start:], '\n')
		if next < 0 {
			return Span{}
		}
		start += next + 1
	}
	rest, _, _ := strings.Cut(text[start:], "\n")
	column = min(max(column, 1)-1, len(rest))
	from := units(text[:start+column])
	return Span{from, from + units(rest[column:])}
}

// units returns the number of UTF-16 code units of a text.
func units(text string) (n int) {
	for _, r := range text {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// faultsOf returns the faults that an error joins. Faults of Stages, policies and objects have a place.
func (r Request) faultsOf(err error) (all []Fault) {
	if err == nil {
		return nil
	}
	var place stage.Position
	f := stages.Finding{Rule: "fault"}
	switch e := err.(type) {
	case *stage.Error:
		place, f.Stage, f.Path, f.Message, f.Informational = e.Position, e.Stage, e.Path, e.Err.Error(), e.Warning
	case *staged.Error:
		place, f.Path, f.Message, f.Informational = stage.Position(e.Position), e.Path, e.Err.Error(), e.Warning
	case *manifests.Fault:
		place, f.Message = e.Position, e.Err.Error()
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			all = append(all, r.faultsOf(one)...)
		}
		return all
	default:
		if inner := errors.Unwrap(err); inner != nil && isJoined(inner) {
			return r.faultsOf(inner)
		}
		f.Message = err.Error()
	}
	f.File, f.Line, f.Column = place.File, place.Line, place.Column
	return r.faults(f)
}

func isJoined(err error) bool {
	_, joined := err.(interface{ Unwrap() []error })
	return joined
}

// faults adds the places in the texts to findings.
func (r Request) faults(findings ...stages.Finding) []Fault {
	all := []Fault{}
	for _, f := range findings {
		f.Message = strings.ToValidUTF8(f.Message, string(utf8.RuneError))
		all = append(all, Fault{f, spanAt(r.text(f.File), f.Line, f.Column)})
	}
	return all
}

// text returns the text of a name.
func (r Request) text(name string) string {
	return map[string]string{StagesFile: r.Stages, ObjectsFile: r.Objects, RolloutFile: r.Rollout}[name]
}
