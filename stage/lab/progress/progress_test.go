package progress_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/progress"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestLineIsOverwritten(t *testing.T) {
	var out bytes.Buffer
	line := progress.To(&out)
	require.True(t, line.Due(start))
	line.Show(start, "größer")
	require.False(t, line.Due(start.Add(99*time.Millisecond)))
	require.True(t, line.Due(start.Add(100*time.Millisecond)))
	line.Show(start.Add(time.Second), "one")
	line.End()
	line.End()
	require.Equal(t, "\rgrößer\rone   \r   \r", out.String())
}

func TestNothingIsWrittenToFiles(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	require.NoError(t, err)
	defer file.Close()
	for _, line := range []*progress.Line{progress.New(file), progress.New(&bytes.Buffer{}), {}} {
		require.False(t, line.Due(start))
		line.Show(start, "text")
		line.End()
	}
	text, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	require.Empty(t, text)
}

func ExampleBar() {
	fmt.Println(progress.Bar(0, 0))
	fmt.Println(progress.Bar(25, 100))
	fmt.Println(progress.Bar(200, 100))
	// Output:
	// [                        ] 0/0
	// [======                  ] 25/100
	// [========================] 200/100
}
