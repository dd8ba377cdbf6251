package lint_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lint"
)

// TestRulesKnowExtensions: what an extension patches counts as an effect.
func TestRulesKnowExtensions(t *testing.T) {
	count := strings.TrimSpace(`
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: count, annotations: {stagecraft-go.github.io/patches: '[{increment: .status.restarts}]'}}
spec: {resourceRef: {apiGroup: example.com/v1, kind: Widget}, selector: {matchLabels: {a: b}}}
`)
	findings := lint.Check(stage.Parse("stages.yaml", []byte(count)))
	require.Len(t, findings, 1)
	require.Equal(t, lint.Livelock, findings[0].Rule)
	require.Empty(t, printed(lint.Check(stage.Parse("stages.yaml", []byte(strings.Replace(count, "selector:", "delay: {durationMilliseconds: 1}, selector:", 1))))))
}
