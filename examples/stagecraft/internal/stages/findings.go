package stages

import (
	"errors"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lint"
)

// A Finding is a fault or a finding of lint as data. Rule is "fault" for what does not compile.
type Finding struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Stage   string `json:"stage,omitempty"`
	Path    string `json:"path,omitempty"`
	Rule    string `json:"rule"`
	Message string `json:"message"`
	Advice  string `json:"advice,omitempty"`
	// Informational findings do not make lint fail.
	Informational bool `json:"informational,omitempty"`

	text string
}

// String prints a line with everything.
func (f Finding) String() string { return f.text }

// Faults returns the faults that an error of [stage.Compile] has.
func Faults(err error) []Finding {
	all := []Finding{}
	var faults stage.Errors
	errors.As(err, &faults)
	for _, f := range faults {
		all = append(all, Finding{File: f.Position.File, Line: f.Position.Line, Column: f.Position.Column, Stage: f.Stage, Path: f.Path,
			Rule: "fault", Message: f.Err.Error(), Informational: f.Warning, text: f.Error()})
	}
	return all
}

// Lint returns what compiles but cannot be meant.
func (in Input) Lint() (all []Finding) {
	for _, f := range lint.Check(in.Sources...) {
		all = append(all, Finding{File: f.Position.File, Line: f.Position.Line, Column: f.Position.Column, Stage: f.Stage, Path: f.Path,
			Rule: string(f.Rule), Message: f.Message, Advice: f.Advice, Informational: f.Rule.Informational(), text: f.String()})
	}
	return all
}
