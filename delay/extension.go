package delay

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/parts"
	"github.com/stagecraft-go/stagecraft/internal/position"
)

// ExtensionAnnotation is the annotation of a Stage whose value is an [Extension]. Kwok ignores it.
const ExtensionAnnotation = "stagecraft-go.github.io/delay"

// An Extension changes what the delay of a Stage means, in ways that kwok's fields cannot express.
// It is immutable and safe for concurrent use.
//
// It is written in YAML, as one of the draws and an offset, each optional:
//
//	addJitter: true                            # the jitter is added to the duration, in place of being the upper bound
//	exponential: {mean: 3s}                    # a draw that is added to the duration
//	logNormal: {median: 3s, p90: 8s}           # the same
//	quantiles: {p0: 1s, p50: 3s, p100: 20s}    # the same, with straight lines in between; p0 and p100 are needed
//	offset: 5s                                 # added as well; it may be negative
//
// The duration comes from durationMilliseconds or durationFrom; it is 0 if the Stage has neither.
// If durationFrom yields "", an object has no delay, even with an extension. A draw of a
// distribution replaces the jitter. The jitter's fields are still useful: kwok, which does not know
// the extension, uses them. Durations are Go's, such as 1m30s. Draws are rounded to microseconds,
// so that they are the same on every machine.
type Extension struct {
	addJitter bool
	offset    time.Duration
	draw      *distribution // nil: none
}

// extensionText is the form of an Extension in YAML.
type extensionText struct {
	AddJitter   bool              `json:"addJitter,omitempty"`
	Offset      *string           `json:"offset,omitempty"`
	Exponential *exponentialText  `json:"exponential,omitempty"`
	LogNormal   *logNormalText    `json:"logNormal,omitempty"`
	Quantiles   map[string]string `json:"quantiles,omitempty"`
}

type exponentialText struct {
	Mean string `json:"mean"`
}

type logNormalText struct {
	Median string `json:"median"`
	P90    string `json:"p90"`
}

// ParseExtension reads an Extension, or returns all its faults: the error joins an [*Error] for
// each fault. The Path of an Error is relative to the text, and its Offset is a byte of the whole
// text.
func ParseExtension(text string) (*Extension, error) {
	var p extensionParser
	var fault *position.Error
	if p.text, fault = position.ParseText(text); fault != nil {
		p.faults.Add(fault)
		return nil, p.err()
	}
	var t extensionText
	p.faults.Add(p.text.Decode(&t)...)
	x := &Extension{addJitter: t.AddJitter, draw: p.distribution(t)}
	if t.Offset != nil {
		x.offset = p.duration("offset", *t.Offset, math.MinInt64)
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	return x, nil
}

type extensionParser struct {
	text   *position.Text
	faults position.Faults
}

func (p *extensionParser) err() error {
	return position.Convert(p.faults.Err(), func(e *position.Error) error { return (*Error)(e) })
}

func (p *extensionParser) fault(path, format string, args ...any) {
	p.faults.Add(p.text.Locate(&position.Error{Path: path, Offset: -1, Err: fmt.Errorf(format, args...)}))
}

// distribution reads the draw. A text has at most one draw.
func (p *extensionParser) distribution(t extensionText) *distribution {
	var given []string
	for name, is := range map[string]bool{"addJitter": t.AddJitter, "exponential": t.Exponential != nil, "logNormal": t.LogNormal != nil, "quantiles": t.Quantiles != nil} {
		if is {
			given = append(given, name)
		}
	}
	slices.Sort(given)
	if len(given) > 1 {
		p.fault(given[1], "beside %s: want one of addJitter, exponential, logNormal and quantiles", given[0])
	}
	if len(given) == 0 && t.Offset == nil && p.faults.Err() == nil {
		p.fault("", "want addJitter, exponential, logNormal, quantiles or offset")
	}
	switch {
	case t.Exponential != nil:
		return &distribution{mean: p.duration("exponential.mean", t.Exponential.Mean, 1)}
	case t.LogNormal != nil:
		return p.logNormal(t.LogNormal)
	case t.Quantiles != nil:
		return &distribution{points: p.points(t.Quantiles)}
	}
	return nil
}

func (p *extensionParser) logNormal(t *logNormalText) *distribution {
	median, p90 := p.duration("logNormal.median", t.Median, 1), p.duration("logNormal.p90", t.P90, 1)
	if median > 0 && p90 > 0 && p90 <= median {
		p.fault("logNormal.p90", "%s is not more than the median, %s", p90, median)
	}
	return &distribution{median: median, sigma: math.Log(float64(p90)/float64(median)) / normalQuantile(0.9)}
}

// points reads quantiles, in the order of their chances.
func (p *extensionParser) points(quantiles map[string]string) []point {
	var points []point
	for _, name := range slices.Sorted(maps.Keys(quantiles)) {
		text := quantiles[name]
		path := position.Field("quantiles", name)
		percent, err := strconv.ParseFloat(strings.TrimPrefix(name, "p"), 64)
		if err != nil || !strings.HasPrefix(name, "p") || !(percent >= 0 && percent <= 100) {
			p.fault(path, "want p0 to p100, such as p50 or p99.9")
			continue
		}
		points = append(points, point{chance: percent / 100, value: p.duration(path, text, 0).Round(time.Microsecond), path: path})
	}
	slices.SortStableFunc(points, func(a, b point) int { return compareFloats(a.chance, b.chance) })
	p.checkPoints(points)
	return points
}

func (p *extensionParser) checkPoints(points []point) {
	if len(points) == 0 || points[0].chance != 0 || points[len(points)-1].chance != 1 {
		p.fault("quantiles", "p0 and p100, the least and the greatest delay, are missing")
	}
	for i := 1; i < len(points); i++ {
		switch a, b := points[i-1], points[i]; {
		case a.chance == b.chance:
			p.fault(b.path, "the same quantile as %s", a.path)
		case a.value > b.value:
			p.fault(b.path, "%s is less than %s, %s", b.value, a.path, a.value)
		}
	}
}

// duration reads a duration that is at least least.
func (p *extensionParser) duration(path, text string, least time.Duration) time.Duration {
	d, err := time.ParseDuration(text)
	switch {
	case text == "":
		p.fault(path, "missing")
	case err != nil:
		p.fault(path, "%q is no duration such as 1m30s", text)
	case d < least && least == 1:
		p.fault(path, "must be more than 0")
	case d < least:
		p.fault(path, "must not be negative")
	}
	return d
}

// AddsJitter reports whether the jitter is added to the duration.
func (x *Extension) AddsJitter() bool { return x.addJitter }

// String prints "jitter added", "exponential (mean 3s) added" or "offset 5s".
func (x *Extension) String() string {
	var parts []string
	switch {
	case x.addJitter:
		parts = append(parts, "jitter added")
	case x.draw != nil:
		parts = append(parts, x.draw.String()+" added")
	}
	if x.offset != 0 {
		parts = append(parts, "offset "+x.offset.String())
	}
	return strings.Join(parts, ", ")
}

// Extend returns the possible delays with the extension, and where they come from. The argument is
// the result of [Delay.Explain] for the same delay. A nil Extension changes nothing.
func (x *Extension) Extend(e Explanation) Explanation {
	none := len(e.Parts) > 0 && !e.Range.Given // durationFrom says so
	if x == nil || none {
		return e
	}
	e.Extension = x
	least := plus(e.Base, x.offset)
	switch {
	case x.draw != nil:
		e.Range = Range{Given: true, Min: plus(least, x.draw.least()), Max: plus(least, x.draw.greatest()+1), draw: x.draw}
	case x.addJitter:
		e.Range = Range{Given: true, Min: least, Max: plus(least, max(e.Jitter, 0))}
	default:
		e.Range = Range{Given: true, Min: plus(e.Range.Min, x.offset), Max: plus(e.Range.Max, x.offset)}
	}
	e.Parts = x.parts(e.Parts)
	return e
}

// parts returns the parts of a delay with the extension: a draw replaces the jitter, and an added
// jitter is not a bound.
func (x *Extension) parts(all []Evaluation) []Evaluation {
	var kept []Evaluation
	for _, p := range all {
		jitter := p.Name == parts.JitterName
		if jitter && x.addJitter {
			p.Meaning = ""
		}
		if !jitter || x.draw == nil {
			kept = append(kept, p)
		}
	}
	return kept
}

// plus returns a+b, or the nearest value that fits into a Duration.
func plus(a, b time.Duration) time.Duration {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	}
	return a + b
}
