package stagetest_test

import (
	"fmt"

	"github.com/stagecraft-go/stagecraft/stage/stagetest"
)

func ExamplePlay() {
	trace, err := stagetest.Play("start.txtar", []byte(`
# A Pod starts after a second, unless it is deleted before.
apply pod.yaml
advance 1s
show Pod web .status.phase
-- stages.yaml --
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-start}
spec:
  resourceRef: {kind: Pod}
  selector:
    matchExpressions:
    - {key: .status.phase, operator: In, values: [Pending]}
  delay: {durationMilliseconds: 1000}
  next:
    event: {type: Normal, reason: Started, message: Started web}
    statusTemplate: "phase: Running"
-- pod.yaml --
apiVersion: v1
kind: Pod
metadata: {name: web}
`), stagetest.Options{})
	if err != nil {
		fmt.Println(err)
	}
	fmt.Print(string(trace))
	// Output:
	// > apply pod.yaml
	// +0s        Pod default/web scheduled pod-start in 1s
	// > advance 1s
	// +1s        Pod default/web played pod-start
	//            event Normal Started "Started web"
	//            patch strategic /status
	//              status:
	//                phase: Running
	// > show Pod web .status.phase
	// Running
}
