package resources_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/resources"
)

func read(text string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		panic(err)
	}
	return obj
}

// The free resources of a Node are its allocatable resources less the requests of its Pods.
func ExampleAmounts() {
	node := read(`status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}`)
	running := read(`spec: {containers: [{resources: {requests: {cpu: 2500m, memory: 1Gi}}}]}`)
	next := read(`spec: {containers: [{resources: {requests: {cpu: "2"}}}]}`)

	free := resources.Allocatable(node)
	free.Add(resources.OfPod(running), -1)
	fmt.Println(free["cpu"], "millicores,", free["memory"]>>30, "GiB")
	fmt.Println(free.Covers(resources.OfPod(next)))
	// Output:
	// 1500 millicores, 7 GiB
	// false
}
