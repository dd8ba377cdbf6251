package hunt_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
)

// TestThePageOfAFailure has the fault in the lane of its process, and the twin with the write that is missing.
func TestThePageOfAFailure(t *testing.T) {
	out := play(t, swallowsErrors, "fault refuse operator store default/a create Task #1\n")
	require.NotEmpty(t, out.Findings)
	text := pageOf(t, hunt.Failure{Finding: out.Findings[0], Outcome: out})
	for _, part := range []string{
		"<title>the same end (Task)</title>",
		"<li><code>Task default/a: only the twin has it</code></li>",
		"<li class=\"fault\"><code>refuse operator store default/a create Task #1</code></li>",
		"<th scope=\"col\">time</th><th scope=\"col\">user</th><th scope=\"col\">operator</th>",
		"<tr><td>&#43;0s</td><td>applies Store default/a</td><td></td></tr>",
		"<tr class=\"fault\"><td>&#43;0s</td><td></td><td>refuse operator store default/a create Task #1</td></tr>",
		"<tr class=\"mark\"><td>&#43;0s</td><td></td><td>store default/a  create Task default/a  &lt;- missing in the run</td></tr>",
		"<tr class=\"note\"><td>&#43;0s</td><td>all processes start again</td><td></td></tr>",
	} {
		require.Contains(t, text, part)
	}
	require.Equal(t, 2, strings.Count(text, "<table>"), "the run and its twin")
}

// TestThePageShowsMarkupAsText: names and errors come from programs.
func TestThePageShowsMarkupAsText(t *testing.T) {
	out := play(t, func(r *hunt.Run) {
		forStore(r, "<b>op", nil, func(client, *object, string) error { return errors.New("<script>alert(1)</script>") })
		r.Apply(store("{}"))
	}, "")
	text := pageOf(t, hunt.Failure{Finding: out.Findings[0], Outcome: out})
	require.NotContains(t, text, "<script")
	require.NotContains(t, text, "<b>")
	require.Contains(t, text, "&lt;script&gt;alert(1)&lt;/script&gt;")
	require.Contains(t, text, "The run without faults fails.")
	require.Equal(t, 1, strings.Count(text, "<table>"))
}

func pageOf(t *testing.T, f hunt.Failure) string {
	t.Helper()
	var text bytes.Buffer
	require.NoError(t, f.WriteHTML(&text))
	return text.String()
}
