package labtest_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
	"github.com/stagecraft-go/stagecraft/internal/dev/race"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

const hundredPods = `
apiVersion: batch/v1
kind: Job
metadata: {name: job-%d}
spec: {parallelism: 100, completions: 100, ttlSecondsAfterFinished: 60, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, command: [sleep, "5"]}]}}}
`

// A lab remembers almost nothing about Pods that have come and gone. Only the events at which
// watches can still begin grow, up to 20,000 of each kind.
func TestALabForgetsPods(t *testing.T) {
	if race.On {
		t.Skip("it measures memory")
	}
	lab := labtest.New(t, labtest.Options{})
	run := func(from, to int) {
		for i := from; i < to; i++ {
			lab.Apply(fmt.Sprintf(hundredPods, i))
			lab.Advance(10 * time.Minute)
		}
	}
	warm, rounds := max(20, effort.Of(40)), max(20, effort.Of(80)) // of a hundred Pods
	run(0, warm)
	before := heapInUse()
	run(warm, warm+rounds)
	require.Less(t, int64(heapInUse())-int64(before), int64(rounds*100*5_000), "bytes, for %d Pods", rounds*100)
	require.Empty(t, lab.List("v1", "Pod", ""))
	require.Less(t, len(lab.List("v1", "Event", "")), 7*500, "an Event stays for an hour")
	runtime.KeepAlive(lab)
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
