package fit_test

import (
	"fmt"
	"strings"

	"github.com/stagecraft-go/stagecraft/stage/lab/fit"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
)

// Pods were bound to a Node for 1 to 9 s before they ran.
func ExampleFit() {
	var log strings.Builder
	for i := range 91 {
		begin := 60 * (i + 1)
		fmt.Fprintf(&log, `{"ns":%d000000000,"kind":"Pod","namespace":"default","name":"p-%d","uid":"%d","to":"Scheduled"}`+"\n", begin, i, i)
		fmt.Fprintf(&log, `{"ns":%d000000000,"kind":"Pod","namespace":"default","name":"p-%d","uid":"%d","from":"Scheduled","to":"Running"}`+"\n", begin+1+i/3%9, i, i)
	}
	result, err := fit.Fit(record.ReadJSONL("cluster.jsonl", strings.NewReader(log.String())), fit.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Print(result)
	// Output:
	// transition               samples  p50   p90   distance  by chance  stage
	// Pod Scheduled → Running  90       4.5s  8.1s  0.083     0.304      pod-scheduled-running
	// Pod Running: 0 left, 91 cut off by the end of the log, 0 entered before it began
	// Pod Scheduled: 90 left, 0 cut off by the end of the log, 1 entered before it began
}
