package apiserver

import (
	"fmt"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestTheMemoryOfAValueIsKnown compares the size by which the history of a cluster is limited with what
// a copy of the value really takes, for values whose text is long or short.
func TestTheMemoryOfAValueIsKnown(t *testing.T) {
	wide, ones, empty, words, text := map[string]any{}, []any{}, []any{}, []any{}, strings.Repeat("x", 1<<20)
	for i := range 20_000 {
		wide[fmt.Sprint("member", i)] = int64(i)
		ones = append(ones, map[string]any{"f:name": map[string]any{}})
		empty = append(empty, map[string]any{})
		words = append(words, fmt.Sprint("word", i))
	}
	for name, value := range map[string]any{"a wide map": wide, "maps of one": ones, "empty maps": empty, "words": words, "a text": text} {
		copies := make([]any, 20)
		before := heap()
		for i := range copies {
			copies[i] = copyOf(value)
		}
		real := float64(heap()-before) / float64(len(copies))
		goruntime.KeepAlive(copies)
		var s size
		s.add(value)
		require.InDelta(t, 1, float64(s.memory)/real, 0.5, "%s: %d bytes of %.0f", name, s.memory, real)
	}
}

// copyOf copies the texts as well: the names and values that a client sends are its own.
func copyOf(value any) any {
	switch value := value.(type) {
	case string:
		return strings.Clone(value)
	case []any:
		list := make([]any, len(value))
		for i := range value {
			list[i] = copyOf(value[i])
		}
		return list
	case map[string]any:
		fields := map[string]any{}
		for name, member := range value {
			fields[strings.Clone(name)] = copyOf(member)
		}
		return fields
	}
	return runtime.DeepCopyJSONValue(value)
}

func heap() uint64 {
	var m goruntime.MemStats
	goruntime.GC()
	goruntime.ReadMemStats(&m)
	return m.HeapAlloc
}
