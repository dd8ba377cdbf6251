package stage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage"
)

// Files with faults everywhere: the first 100 are told, and how many there are.
func TestManyFaults(t *testing.T) {
	const start = "apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: {name: %s}\nspec: {resourceRef: {kind: Pod}, selector: {}, "
	for name, tc := range map[string]struct{ text, last string }{
		"documents that are no objects": {strings.Repeat("---\na\n", 5000), "s.yaml: and 4900 more faults"},
		"documents that are no YAML":    {strings.Repeat("---\n[\n", 5000), "s.yaml: and 4900 more faults"},
		"unknown fields":                {fmt.Sprintf(start, "a") + strings.TrimSuffix(repeated("x%d: 1, ", 1000), ", ") + "}", "s.yaml: and 900 more faults"},
		"faults that compiling finds":   {repeated("---\n"+fmt.Sprintf(start, "s%d")+"weight: -1, steps: [{delete: true}]}\n", 1000), "s.yaml: and 900 more faults"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := stage.Compile(stage.Options{}, stage.Parse("s.yaml", []byte(tc.text)))
			faults, ok := err.(stage.Errors)
			require.True(t, ok)
			require.Len(t, faults, 101)
			require.Equal(t, tc.last, faults[100].Error())
			require.Less(t, len(err.Error()), 32<<10)
		})
	}
}

// Warnings do not hide an error, and are counted apart.
func TestManyWarnings(t *testing.T) {
	const warned = "---\napiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: {name: s%d}\nspec: {resourceRef: {kind: Pod}}\n"
	text := repeated(warned, 500)
	set, err := stage.Compile(stage.Options{}, stage.Parse("s.yaml", []byte(text)))
	require.NoError(t, err)
	require.Len(t, set.Warnings(), 101)
	require.Equal(t, "s.yaml: warning: and 400 more faults", set.Warnings()[100].Error())
	_, err = stage.Compile(stage.Options{}, stage.Parse("s.yaml", []byte(text+"---\n1\n")))
	require.ErrorContains(t, err, "want an object")

	const unknown = `---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: s%d}
spec: {resourceRef: {kind: Pod}, selector: {}, steps: [{delete: true}], unknown: 1}
`
	source := stage.Parse("s.yaml", []byte(repeated(unknown, 500)))
	_, err = stage.Compile(stage.Options{}, source)
	require.Error(t, err)
	set, err = stage.Compile(stage.Options{Lenient: true}, source)
	require.NoError(t, err)
	require.Len(t, set.Warnings(), 101)
}

func repeated(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, strings.ReplaceAll(format, "%d", "%[1]d"), i)
	}
	return b.String()
}
