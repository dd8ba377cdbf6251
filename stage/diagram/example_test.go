package diagram_test

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/diagram"
	"github.com/stagecraft-go/stagecraft/stage/explore"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

func Example() {
	node := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "node-1"}}}
	set := stage.MustCompile(presets.NodeFast(), presets.NodeHeartbeat())
	graph, err := explore.Explore(context.Background(), set, explore.Options{}, node)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(diagram.FromGraph(graph, diagram.Options{}).Mermaid())
	// Output:
	// flowchart TD
	//   n0(["no status"])
	//   n1("Running · Ready")
	//   n0 -->|"node-initialize<br/>at once"| n1
	//   n1 -->|"node-heartbeat<br/>20s–25s"| n1
}
