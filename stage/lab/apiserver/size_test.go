package apiserver_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/race"
	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
)

const defaultPods = "/api/v1/namespaces/default/pods"

// serving returns a server with Pods.
func serving(t testing.TB, pods int) *apiserver.Server {
	s := benched(t)
	for i := range pods {
		send(t, s, "POST", defaultPods, "application/json", strings.Replace(benchedPod, "NAME", fmt.Sprint("p", i), 1))
	}
	return s
}

// patchStatus patches the status of one Pod of many.
func patchStatus(t testing.TB, s *apiserver.Server, i, pods int) {
	path := fmt.Sprint(defaultPods, "/p", i*7919%pods, "/status")
	send(t, s, "PATCH", path, "application/strategic-merge-patch+json", fmt.Sprintf(`{"status": {"message": "%d"}}`, i))
}

// BenchmarkSizes has patches and lists with few and with many Pods, without a connection.
func BenchmarkSizes(b *testing.B) {
	for _, n := range []int{5_000, 50_000} {
		s := serving(b, n)
		b.Run(fmt.Sprint("patch/", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				patchStatus(b, s, i, n)
			}
		})
		b.Run(fmt.Sprint("list/", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				send(b, s, "GET", defaultPods, "", "")
			}
		})
	}
}

// TestRequestsAreLevel compares what requests allocate with few and with ten times as many Pods. For each
// Pod of a list the server allocates only the copy without kind and apiVersion.
func TestRequestsAreLevel(t *testing.T) {
	if race.On {
		t.Skip("the race detector allocates")
	}
	allocated := func(times int, do func(i int)) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range times {
			do(i)
		}
		runtime.ReadMemStats(&after)
		return float64(after.Mallocs-before.Mallocs) / float64(times)
	}
	patches := map[int]float64{}
	for _, n := range []int{200, 2000} {
		s := serving(t, n)
		patches[n] = allocated(500, func(i int) { patchStatus(t, s, i, n) })
		list := allocated(1, func(int) { send(t, s, "GET", defaultPods, "", "") }) / float64(n)
		t.Logf("%d Pods: a patch has %.0f allocations, a list %.1f for each Pod", n, patches[n], list)
		require.Less(t, list, 3.0)
	}
	require.Less(t, patches[2000]/patches[200], 1.1)
}
