package diagram_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/diagram"
)

// TestExtensionsAreShown: a box says what the annotations make of the Stage.
func TestExtensionsAreShown(t *testing.T) {
	source := stage.Parse("s.yaml", []byte(`
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: run, annotations: {stagecraft-go.github.io/delay: "exponential: {mean: 10s}", stagecraft-go.github.io/patches: "[{increment: .status.n}]"}}
spec: {resourceRef: {kind: Pod}, selector: {}, delay: {durationMilliseconds: 1000}}
`))
	text := strings.Join(diagram.FromStages(source.Stages()).Boxes[0].Lines, "\n")
	require.Contains(t, text, "after 1s, exponential (mean 10s) added")
	require.Contains(t, text, "→ stagecraft-go.github.io/patches")
}
