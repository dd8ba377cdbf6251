package load_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/load"
)

// FuzzRead reads any text. It gets either faults with a place, or rows in the order of their times,
// none before the start.
func FuzzRead(f *testing.F) {
	f.Add([]byte("at,size,gpus\n1.5,60,8\n1m,2h,1\n"), byte(0))
	f.Add([]byte("at,size,gpus\n2026-01-01T00:00:00Z,1,1\n0001-01-01T00:00:00Z,1,1\n"), byte(0))
	f.Add([]byte(`{"at": "2026-01-01T00:00:00Z", "size": 1, "gpus": "2", "x": null}`), byte(1))
	f.Add([]byte(`[{"at": 1,
"size": 1, "gpus": 2, "x": {"y": [1]}}]`), byte(2))
	f.Fuzz(func(t *testing.T, data []byte, format byte) {
		read := []func(string, io.Reader, load.Columns) ([]load.Row, error){load.ReadCSV, load.ReadJSONL, load.ReadJSON}[format%3]
		rows, err := read("jobs", bytes.NewReader(data), columns)
		if err != nil {
			fault := new(load.TraceError)
			require.True(t, errors.As(err, &fault))
			require.Positive(t, fault.Line)
			return
		}
		times := load.Arrivals(rows)
		require.True(t, slices.IsSorted(times))
		require.True(t, len(times) == 0 || times[0] >= 0)
	})
}
