package render_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/render"
)

// TestUsualTextsAreReadFast fails if the status of a pod is left to the general YAML parser.
func TestUsualTextsAreReadFast(t *testing.T) {
	tmpl, in := compile(t, ready, render.Options{}), benchInput()
	text := testing.AllocsPerRun(100, func() { _, _ = tmpl.Text(in) })
	value := testing.AllocsPerRun(100, func() { _, _, _ = tmpl.Value(in) })
	require.Less(t, value-text, 100.0)
}
