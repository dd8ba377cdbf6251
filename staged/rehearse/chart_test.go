package rehearse_test

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/staged/rehearse"
)

var update = flag.Bool("update", false, "rewrite testdata")

func page(t *testing.T, timelines ...*rehearse.Timeline) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, rehearse.WriteHTML(&b, timelines...))
	return b.String()
}

// flapping is a rollout whose dev cluster goes back once.
func flapping(t *testing.T) *rehearse.Timeline {
	in := policy(t, "    condition: num('sum') == 1\n    soak: 30s")
	for _, s := range []rehearse.Status{{After: 20 * time.Second}, {After: 25 * time.Second}} {
		s.Status = map[string]any{"availableReplicas": int(s.After/time.Second)/5 - 4}
		in.Clusters[0].Script = append(in.Clusters[0].Script, s)
	}
	in.Explain = true
	return run(t, in)
}

func TestHTML(t *testing.T) {
	const golden = "testdata/flapping.html"
	got := page(t, flapping(t))
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
	require.Equal(t, got, page(t, flapping(t)), "the same again")
}

func TestHTMLIsEscapedAndNeedsNothingElse(t *testing.T) {
	const evil = `"><script>alert(1)</script><img src="http://example.org">`
	got := page(t, &rehearse.Timeline{Policy: evil, Message: evil, Lints: []rehearse.Lint{{Stage: evil, Text: evil}}, Entries: []rehearse.Entry{
		{Stage: evil, Text: "satisfied"}, {Cluster: evil, Text: evil + " arrives"}, {At: time.Minute, Text: evil, Waiting: true}}}, &rehearse.Timeline{Policy: "empty", Succeeded: true})
	require.Equal(t, 2, strings.Count(got, "<section>"))
	require.Contains(t, got, "prefers-color-scheme: dark")
	for _, outside := range []string{"<script", "<img", "<link", `src="`, `href="`, "url(", "@import"} {
		require.NotContains(t, got, outside)
	}
	require.Equal(t, 6, strings.Count(got, "&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=&#34;http://example.org&#34;&gt;</"), "where text stands")
}

func TestMermaid(t *testing.T) {
	require.Equal(t, `gantt
  title s
  dateFormat X
  axisFormat %s
  s.stage.dev : 0, 56
  s.stage.prod : 56, 57
`, flapping(t).Mermaid())
	require.Equal(t, "gantt\n  title \n  dateFormat X\n  axisFormat %s\n", new(rehearse.Timeline).Mermaid())
}
