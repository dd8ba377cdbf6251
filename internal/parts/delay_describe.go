package parts

import (
	"time"

	"github.com/stagecraft-go/stagecraft/internal/expression"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// A DelayDescription is the content of a StageDelay without an object, whether it compiles or not.
type DelayDescription struct {
	// DelayExplanation is the delay of an object on which the expressions have no result.
	DelayExplanation
	// Sources are the expressions, in the order in which they are evaluated.
	Sources []expression.Source
	// Others are the expressions that change the range of the constants, in the order in which a
	// description names them. Each has the word that joins it: "1s to .a or .b".
	Others []OtherDelay
	// HasJitter reports whether the Stage gives a jitter.
	HasJitter bool
	// JitterPath is the field of the jitter's milliseconds.
	JitterPath string
	// Shortened reports that the jitter is less than the duration, so that the delay is less than the
	// duration.
	Shortened bool
	// Duration is the duration of the constants.
	Duration time.Duration
}

// An OtherDelay is an expression which changes the range that the constants of a delay give.
type OtherDelay struct {
	Word   string
	Source expression.Source
}

// DescribeDelay reads a StageDelay. Paths are relative to it.
func DescribeDelay(d *v1alpha1.StageDelay) DelayDescription {
	var s DelayDescription
	if d == nil {
		return s
	}
	var v values
	for i, f := range fields(d) {
		v[i] = f.constant()
		source, ok := expression.SourceOf(f.from)
		if !ok {
			continue
		}
		source = source.Below(f.path + "From")
		s.Sources = append(s.Sources, source)
		if i == duration || f.ms == nil {
			s.Others = append([]OtherDelay{{f.joins, source}}, s.Others...)
		}
	}
	v[duration].Given = true // the default is 0
	s.DelayExplanation, s.Duration = explanation(&v), v[duration].Value
	s.JitterPath = v[jitter].Path
	s.HasJitter = v[jitter].Given || fields(d)[jitter].from != nil
	s.Shortened = v[duration].Path != "" && v[jitter].Given && s.Min < s.Duration
	return s
}
