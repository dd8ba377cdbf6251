package lint

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/itchyny/gojq"

	"github.com/stagecraft-go/stagecraft/delay"
	"github.com/stagecraft-go/stagecraft/internal/parts"
)

func jitterBelow(s *checkedStage) []fault {
	d := parts.DescribeDelay(s.spec.Delay)
	_, extended := s.stage.Annotations[delay.ExtensionAnnotation] // with an extension the jitter is added, or does not count
	if extended || !d.Shortened {
		return nil
	}
	return []fault{fieldFault("spec.delay."+d.JitterPath, fmt.Sprintf("if it is meant to be added, write the sum, %d; else leave it out", (d.Duration+d.Jitter).Milliseconds()),
		"the jitter is the upper bound of the delay, not added to it: where both fields count, the delay is %d ms, not %d or more",
		d.Min.Milliseconds(), d.Duration.Milliseconds())}
}

// shortestDelay is the shortest plausible delay. A smaller number of nanoseconds is a mistake.
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

// numericFault says what is wrong with a delay that is a number. It goes by the value on probes, by
// the form of the expression, or by a field name that ends in the unit, as in the Kubernetes API.
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

// observedValue returns the result of the expression of a delay on a probe; nil without a result.
func (s *checkedStage) observedValue(e expression) any {
	for _, v := range s.playable() {
		for _, r := range v.Delay.Parts {
			if r.Text == e.text && r.Seen != nil {
				return r.Seen
			}
		}
	}
	return nil
}

// namesUnit reports whether the expression is a path to a field that holds a number by the
// conventions of the Kubernetes API.
func namesUnit(text string) bool {
	text = strings.TrimSpace(text)
	plain := strings.HasPrefix(text, "self.") || strings.HasPrefix(text, ".")
	return plain && !strings.ContainsAny(text, " |()\"") && (strings.HasSuffix(text, "Seconds") || strings.HasSuffix(text, "Milliseconds"))
}
