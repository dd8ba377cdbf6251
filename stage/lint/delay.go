package lint

import (
	"strconv"
	"strings"
	"time"

	"github.com/itchyny/gojq"

	"github.com/stagecraft-go/stagecraft/delay"
)

func jitterBelow(s *checkedStage) []fault {
	d := s.spec.Delay
	if d == nil || d.DurationMilliseconds == nil || d.JitterDurationMilliseconds == nil {
		return nil
	}
	if *d.JitterDurationMilliseconds >= *d.DurationMilliseconds {
		return nil
	}
	return []fault{fieldFault("spec.delay.jitterDurationMilliseconds", "write the sum of both, or leave it out",
		"the jitter is the upper bound of the delay, not added to it: where both fields count, the delay is %d ms, not %d or more",
		*d.JitterDurationMilliseconds, *d.DurationMilliseconds)}
}

// shortest is the least number of nanoseconds that anybody means.
const shortestDelay = time.Millisecond

func numericDuration(s *checkedStage) []fault {
	var faults []fault
	for _, e := range s.expressions {
		if !strings.HasPrefix(e.path, "spec.delay.") || hyphenated.MatchString(e.text) {
			continue
		}
		if message, advice := s.numericFault(e); message != "" {
			faults = append(faults, fieldFault(e.path, advice, "%s", message))
		}
	}
	return faults
}

// numeric says what is wrong with a delay that is a number: by what it reads from probes, by its form, or by its name, which tells the unit
// of API fields.
func (s *checkedStage) numericFault(e expression) (message, advice string) {
	seen := s.observedValue(e)
	if e.cel {
		n, isInt := seen.(int64)
		if lit, err := strconv.ParseInt(strings.TrimSpace(e.text), 10, 64); err == nil {
			n, isInt = lit, true
		}
		if isInt && n != 0 && time.Duration(n).Abs() < shortestDelay || namesUnit(e.text) {
			return "a number in CEL is nanoseconds", `write duration("5s"), or duration(string(…) + "s")`
		}
		return "", ""
	}
	_, isInt := seen.(int64)
	_, isFloat := seen.(float64)
	q, err := gojq.Parse(e.text)
	if isInt || isFloat || err == nil && (isNumeric(q) || namesUnit(e.text)) {
		return "a number from jq is no delay, so the milliseconds count", `make it text with a unit: … | tostring + "s"`
	}
	return "", ""
}

// seen is what the expression of a delay gave on a probe; nil if nothing.
func (s *checkedStage) observedValue(e expression) any {
	for _, v := range s.playable() {
		for _, r := range []delay.Reading{v.Delay.Duration, v.Delay.Jitter} {
			if r.Text == e.text && r.Seen != nil {
				return r.Seen
			}
		}
	}
	return nil
}

// namesUnit reports whether the expression is a path to a field that has a number by the conventions of the Kubernetes API.
func namesUnit(text string) bool {
	text = strings.TrimSpace(text)
	plain := strings.HasPrefix(text, "self.") || strings.HasPrefix(text, ".")
	return plain && !strings.ContainsAny(text, " |()\"") && (strings.HasSuffix(text, "Seconds") || strings.HasSuffix(text, "Milliseconds"))
}
