package timing_test

import (
	"fmt"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/reconcile/timing"
)

// A program that may send two requests a second, and one at once, sends four.
func ExampleClient() {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	client := timing.NewClient(timing.Limits{QPS: 2, Burst: 1}, timing.Latency{Create: timing.LogNormal{Median: 5 * time.Millisecond, P99: 5 * time.Millisecond}}, 1)
	for range 4 {
		fmt.Println(client.Send(now, timing.Create).Format("05.000"))
	}
	// Output:
	// 00.005
	// 00.505
	// 01.005
	// 01.505
}
