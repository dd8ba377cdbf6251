package histories

import (
	"flag"
	"strings"
	"sync"
	"testing"

	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stretchr/testify/require"
)

var (
	histories = flag.Int("histories", effort.Of(600), "how many histories to play")
	from      = flag.Uint64("from", 0, "seed of the first")
	only      = flag.String("only", "", "the faults that may strike, with commas between; empty: the seed chooses")
)

// TestHistories plays random histories over stage/memory.
func TestHistories(t *testing.T) {
	var faults []string
	if *only != "" {
		faults = strings.Split(*only, ",")
	}
	for i := range *histories {
		seed := *from + uint64(i)
		var mu sync.Mutex
		var trace []stage.TraceEvent
		o := Options{Seed: seed, Only: faults}
		if testing.Verbose() { // a trace costs time
			o.Trace = func(e stage.TraceEvent) {
				mu.Lock()
				defer mu.Unlock()
				trace = append(trace, e)
			}
		}
		wrong := Play(t, o)
		if len(wrong) > 0 {
			for _, e := range trace {
				t.Logf("%s %.300s", e.Time.Format("04:05.000"), e)
			}
		}
		require.Empty(t, wrong, "seed %d; with -v the trace is printed", seed)
	}
}
