package stages

import (
	"time"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/explore"
)

// An Explanation is a [stage.Explanation] as data.
type Explanation struct {
	Object string          `json:"object"`
	Time   time.Time       `json:"time"`
	Stages []StageOfObject `json:"stages"`
}

// A StageOfObject says whether a Stage applies to an object, and why.
type StageOfObject struct {
	Stage        string        `json:"stage"`
	Matches      bool          `json:"matches"`
	Requirements []Requirement `json:"requirements"`
	Chance       float64       `json:"chance,omitempty"`
	Delay        string        `json:"delay,omitempty"`
}

// A Requirement is one requirement of a selector, and whether it holds.
type Requirement struct {
	Path  string `json:"path"`
	Text  string `json:"text"`
	Holds bool   `json:"holds"`
	Error string `json:"error,omitempty"`
}

// Explained returns an explanation as data.
func Explained(e stage.Explanation) Explanation {
	all := Explanation{Object: e.Key.String(), Time: e.Time, Stages: []StageOfObject{}}
	for _, s := range e.Stages {
		one := StageOfObject{Stage: s.Stage, Matches: s.Matches, Requirements: []Requirement{}}
		for _, r := range s.Requirements {
			next := Requirement{Path: r.Path, Text: r.Text, Holds: r.OK}
			if r.Err != nil {
				next.Error = r.Err.Error()
			}
			one.Requirements = append(one.Requirements, next)
		}
		if s.Matches {
			one.Chance, one.Delay = s.Candidate.Probability, explore.FormatDelay(s.Candidate.Delay)
		}
		all.Stages = append(all.Stages, one)
	}
	return all
}
