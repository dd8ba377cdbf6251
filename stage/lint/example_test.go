package lint_test

import (
	"fmt"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lint"
)

func ExampleCheck() {
	source := stage.Parse("pod.yaml", []byte(`
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-complete}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.labels.job-type, operator: In, values: [short]}
    - {key: .status.phase, operator: In, values: [Running]}
  delay:
    durationMilliseconds: 5000
    jitterDurationMilliseconds: 1000
  next:
    statusTemplate: |
      phase: Succeeded
      message: {{ .metadata.annotations.message }}
`))
	for _, f := range lint.Check(source) {
		fmt.Println(f.Position, f.Path, f.Rule)
		fmt.Println("\t" + f.Message)
		fmt.Println("\t" + f.Advice)
	}
	// Output:
	// pod.yaml:9:33 spec.selector.matchExpressions[0].key subtraction
	// 	jq reads .metadata.labels.job-type as .metadata.labels.job minus the function type
	// 	write .metadata.labels["job-type"]
	// pod.yaml:13:33 spec.delay.jitterDurationMilliseconds jitter-below
	// 	the jitter is the upper bound of the delay, not added to it: where both fields count, the delay is 1000 ms, not 5000 or more
	// 	if it is meant to be added, write the sum, 6000; else leave it out
	// pod.yaml:17:16 spec.next.statusTemplate unquoted
	// 	status.message has no quotes: its owner can add fields here
	// 	quote it: {{ … | Quote }}, or "…"
}
