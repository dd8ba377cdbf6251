package delay_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/delay"
)

func TestExplain(t *testing.T) {
	obj := map[string]any{"five": "5s", "empty": "", "text": "5 minutes", "number": int64(7)}
	const noTime = `neither a duration such as "5s" nor a time`
	for _, tc := range []struct {
		name, delay      string
		duration, jitter string // path, text, seen, value, error
	}{
		{"no delay", "null", "", ""},
		{"the default", "{}", "", ""},
		{"milliseconds", "{durationMilliseconds: 5, jitterDurationMilliseconds: 9}",
			"durationMilliseconds||<nil>|5ms|<nil>", "jitterDurationMilliseconds||<nil>|9ms|<nil>"},
		{"jq", "{durationFrom: {jq: {expression: .five}}}", "durationFrom.jq.expression|.five|5s|5s|<nil>", ""},
		{"legacy jq gives nothing", "{durationMilliseconds: 5, durationFrom: {expressionFrom: .none}}", "durationMilliseconds|.none|<nil>|5ms|<nil>", ""},
		{"jq gives nothing, and there is no fallback", "{durationFrom: {expressionFrom: .none}}", "|.none|<nil>|0s|<nil>", ""},
		{"jq gives unreadable text", "{durationMilliseconds: 5, durationFrom: {expressionFrom: .text}}", "durationMilliseconds|.text|5 minutes|5ms|" + noTime, ""},
		{"jq gives a number", "{durationMilliseconds: 5, durationFrom: {expressionFrom: .number}}",
			`durationMilliseconds|.number|7|5ms|a number from jq has no unit; want text such as "5s"`, ""},
		{"jq gives an object", "{durationFrom: {expressionFrom: .}}", "|.|map[empty: five:5s number:7 text:5 minutes]|0s|" + noTime, ""},
		{"jq fails", "{durationMilliseconds: 5, durationFrom: {expressionFrom: .five.x}}",
			`durationMilliseconds|.five.x|<nil>|5ms|expected an object but got: string ("5s")`, ""},
		{"cel", "{durationFrom: {cel: {expression: duration(self.five)}}}", "durationFrom.cel.expression|duration(self.five)|5s|5s|<nil>", ""},
		{"cel fails", "{durationMilliseconds: 5, durationFrom: {cel: {expression: self.none}}}", "durationMilliseconds|self.none|<nil>|5ms|no such key: none", ""},
		{"text that means no delay", "{durationMilliseconds: 5, durationFrom: {expressionFrom: .empty}, jitterDurationMilliseconds: 9}",
			"durationFrom.expressionFrom|.empty||none|<nil>", ""},
		{"text that means no jitter", "{durationMilliseconds: 5, jitterDurationFrom: {expressionFrom: .empty}}",
			"durationMilliseconds||<nil>|5ms|<nil>", "jitterDurationFrom.expressionFrom|.empty||none|<nil>"},
		{"a jitter that gives nothing", "{jitterDurationFrom: {expressionFrom: .none}}", "", "|.none|<nil>|none|<nil>"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, err := delay.Compile(parse(t, tc.delay), delay.Options{})
			require.NoError(t, err)
			e := d.Explain(obj, now)
			require.Equal(t, tc.duration, show(part(e, "duration")))
			require.Equal(t, tc.jitter, show(part(e, "jitter")))
			require.Equal(t, d.Range(obj, now), e.Range)
		})
	}
}

// part returns the part of a delay with a name; zero without one.
func part(e delay.Explanation, name string) delay.Evaluation {
	for _, p := range e.Parts {
		if p.Name == name {
			return p
		}
	}
	return delay.Evaluation{}
}

// show prints an evaluation in one line, a zero one as "".
func show(r delay.Evaluation) string {
	if r.Path == "" && r.Text == "" && !r.Given {
		return ""
	}
	value := "none"
	if r.Given {
		value = r.Value.String()
	}
	seen := r.Seen
	if d, ok := seen.(time.Duration); ok {
		seen = d.String()
	}
	return fmt.Sprintf("%s|%s|%v|%s|%v", r.Path, r.Text, seen, value, r.Err)
}
