package lint_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/txtar"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lint"
)

// FuzzCheck checks arbitrary text as Stages: Check never panics and returns the same findings
// twice.
func FuzzCheck(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(f, err)
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		require.NoError(f, err)
		f.Add(archive.Files[0].Data)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		first := lint.Check(stage.Parse("stages.yaml", text))
		require.Equal(t, first, lint.Check(stage.Parse("stages.yaml", text)))
		for _, finding := range first {
			require.NotEmpty(t, finding.Path)
			require.NotEmpty(t, finding.Message)
			require.NotEmpty(t, finding.Advice)
			require.Positive(t, finding.Position.Line)
		}
	})
}
