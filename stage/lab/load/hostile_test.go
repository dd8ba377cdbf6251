package load_test

import (
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/load"
)

// A meter is a reader that looks at the memory in use at every MiB that is read.
type meter struct {
	from       io.Reader
	left       int
	base, peak uint64
}

func inUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Read reads.
func (m *meter) Read(p []byte) (int, error) {
	n, err := m.from.Read(p)
	if m.left -= n; m.left <= 0 || err != nil {
		m.left = 1 << 20
		m.peak = max(m.peak, inUse())
	}
	return n, err
}

// A file of bad lines costs no more than it is worth: the first faults, their number, and memory of
// the order of the file.
func TestHostileTraces(t *testing.T) {
	const size = 2 << 20
	for name, tc := range map[string]struct {
		read   func(string, io.Reader, load.Columns) ([]load.Row, error)
		text   string
		faults string
	}{
		"bad lines":        {load.ReadJSONL, strings.Repeat("x\n", size/2), "and 1048476 more faults"},
		"bad objects":      {load.ReadJSONL, strings.Repeat("{}\n", size/3), "and 698950 more faults"},
		"bad after good":   {load.ReadJSONL, strings.Repeat("{\"at\": 1}\n", 1000) + strings.Repeat("x\n", size/2), "and 1048476 more faults"},
		"good after bad":   {load.ReadJSONL, "x\n" + strings.Repeat("{\"at\": 1}\n", size/10), "jobs:1: invalid character 'x' looking for beginning of value"},
		"a long line":      {load.ReadJSONL, strings.Repeat("x", 17<<20) + "\n{}", "jobs:1: the line has more than 16 MiB\njobs:2: column \"at\": is missing"},
		"a long last line": {load.ReadJSONL, strings.Repeat("[", 17<<20), "jobs:1: the line has more than 16 MiB"},
		"bad rows":         {load.ReadCSV, "at\n" + strings.Repeat("x\n", size/2), "and 1048476 more faults"},
		"wide rows":        {load.ReadCSV, "at,b\n" + strings.Repeat("x\n", size/2), "and 1048476 more faults"},
		"a long row":       {load.ReadCSV, "at\n" + strings.Repeat("x", 17<<20), "jobs:1: the line has more than 16 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			m := &meter{from: strings.NewReader(tc.text), base: inUse()}
			rows, err := tc.read("jobs", m, load.Columns{})
			require.Nil(t, rows)
			require.Error(t, err)
			text := err.Error()
			require.Less(t, len(text), 256<<10)
			require.True(t, strings.HasSuffix(text, tc.faults), "%.300s", text)
			require.Less(t, m.peak, m.base+uint64(4*len(tc.text)))
		})
	}
}

// A row takes 32 bytes and as much for its time, and its columns: no maps without columns.
func TestMemoryOfRows(t *testing.T) {
	text := "at\n" + strings.Repeat("2026-01-01T00:00:00Z\n", 100_000)
	base := inUse()
	rows, err := load.ReadCSV("jobs", strings.NewReader(text), load.Columns{})
	require.NoError(t, err)
	require.Less(t, inUse()-base, uint64(4*len(text)))
	runtime.KeepAlive(rows)
}
