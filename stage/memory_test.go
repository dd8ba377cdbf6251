package stage_test

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/race"
	"github.com/stagecraft-go/stagecraft/stage"
)

// TestMemoryOfStages reads files of some megabytes: what stays takes a few times the text, which
// stays as well. A Stage as a Go value takes at least 400 bytes, whatever its text.
func TestMemoryOfStages(t *testing.T) {
	if race.On {
		t.Skip("it is about work and memory, and takes many times as long with the race detector")
	}
	general, err := os.ReadFile("presets/pod-general.yaml")
	require.NoError(t, err)
	var tiny, list, usual bytes.Buffer
	list.WriteString("apiVersion: v1\nkind: List\nitems:\n")
	for i := range 2000 {
		const text = "{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: s%d}, spec: {resourceRef: {kind: Pod}, selector: {}, next: {delete: true}}}\n"
		fmt.Fprintf(&tiny, "---\n"+text, i)
		fmt.Fprintf(&list, "- "+text, i)
	}
	for range 40 {
		usual.Write(append([]byte("---\n"), general...))
	}
	for name, c := range map[string]struct {
		text  []byte
		times float64
	}{"usual Stages": {usual.Bytes(), 4}, "tiny Stages": {tiny.Bytes(), 8}, "tiny Stages in a list": {list.Bytes(), 10}} {
		before := liveHeap()
		source := stage.Parse("a.yaml", c.text)
		times := 1 + float64(liveHeap()-before)/float64(len(c.text))
		t.Logf("%s: %.1f times the text, itself counted", name, times)
		require.Less(t, times, c.times, name)
		runtime.KeepAlive(source)
		runtime.KeepAlive(c.text)
	}
}

// liveHeap is the size of the live heap after a garbage collection.
func liveHeap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
