package record_test

import (
	"io"
	"iter"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/race"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
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
func TestHostileLogs(t *testing.T) {
	const size = 2 << 20
	for name, tc := range map[string]struct {
		read   func(string, io.Reader) iter.Seq2[record.Record, error]
		text   string
		faults string
	}{
		"bad lines":        {record.ReadJSONL, strings.Repeat("x\n", size/2), "and 1048476 more faults"},
		"bad objects":      {record.ReadJSONL, strings.Repeat("{}\n", size/3), "and 698950 more faults"},
		"a long line":      {record.ReadJSONL, strings.Repeat("x", 17<<20) + "\n{}", "log:1: the line has more than 16 MiB\nlog:2: ns is missing"},
		"a long last line": {record.ReadJSONL, strings.Repeat("[", 17<<20), "log:1: the line has more than 16 MiB"},
		"long text":        {record.ReadJSONL, strings.Repeat(`{"`+strings.Repeat("k", 1<<20)+`":1}`+"\n", 8), " bytes)"},
		"bad rows":         {record.ReadCSV, "ns,kind,name,to\n" + strings.Repeat("x\n", size/2), "and 1048476 more faults"},
		"a long row":       {record.ReadCSV, "ns,kind,name,to\n" + strings.Repeat("x", 17<<20), "log:1: the line has more than 16 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			m := &meter{from: strings.NewReader(tc.text), base: inUse()}
			log, err := record.Collect(tc.read("log", m))
			require.Nil(t, log)
			require.Error(t, err)
			text := err.Error()
			require.Less(t, len(text), 256<<10)
			require.True(t, strings.HasSuffix(text, tc.faults), "%.300s", text)
			require.Less(t, m.peak, m.base+uint64(4*len(tc.text)))
		})
	}
}

// A log as a simulation writes it takes at most four times its size.
func TestMemoryOfALog(t *testing.T) {
	const line = `{"ns":1136214245000000000,"kind":"Pod","namespace":"default","name":"web-5d59d67564-xyzzy","uid":"51c51384-8fdb-4744-8451-165698686452",` +
		`"from":"Pending","stage":"pod-ready","to":"Running","seed":"1/Pod/default/web-5d59d67564-xyzzy/0/pod-ready","owner":"ReplicaSet.apps/web-5d59d67564"}` + "\n"
	text := strings.Repeat(line, 30_000)
	m := &meter{from: strings.NewReader(text), base: inUse()}
	log, err := record.Collect(record.ReadJSONL("log", m))
	require.NoError(t, err)
	require.Len(t, log, 30_000)
	require.Less(t, m.peak, m.base+uint64(4*len(text)))
}

// These are the shortest valid lines. Reading them one by one keeps none of them in memory. A Log
// of them takes the memory of its Records, which have 176 bytes each and their texts.
func TestMemoryOfALogOfShortLines(t *testing.T) {
	if race.On {
		t.Skip("it is about work and memory, and takes many times as long with the race detector")
	}
	text := strings.Repeat(`{"ns":1,"kind":"Pod","name":"a","to":"b"}`+"\n", 100_000)
	m := &meter{from: strings.NewReader(text), base: inUse()}
	n := 0
	for _, err := range record.ReadJSONL("log", m) {
		require.NoError(t, err)
		n++
	}
	require.Equal(t, 100_000, n)
	require.Less(t, m.peak, m.base+uint64(len(text)))
	base := inUse()
	log, err := record.Collect(record.ReadJSONL("log", strings.NewReader(text)))
	require.NoError(t, err)
	times := float64(inUse()-base) / float64(len(text))
	t.Logf("a Log takes %.1f times its text", times)
	require.Less(t, times, 8.0)
	runtime.KeepAlive(log)
}
