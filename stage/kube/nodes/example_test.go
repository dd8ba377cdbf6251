package nodes_test

import (
	"fmt"

	"github.com/stagecraft-go/stagecraft/stage/kube/nodes"
)

func ExamplePolicy() {
	rules, err := nodes.Policy{
		Labels:    "type=fake",
		Disregard: nodes.Disregard{Annotations: "kwok.x-k8s.io/status=custom"},
	}.Compile()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rules.Manages(node("a", texts{"type": "fake"}, nil)))
	fmt.Println(rules.Manages(node("b", texts{"type": "fake"}, texts{"kwok.x-k8s.io/status": "custom"})))
	fmt.Println(rules.Manages(node("c", nil, nil)))

	_, err = nodes.Policy{Names: []string{"a"}, Labels: "type in fake"}.Compile()
	fmt.Println(err)
	// Output:
	// true
	// false
	// false
	// nodes: Policy.Labels "type in fake": unable to parse requirement: found 'fake' expected: '('
	// nodes: Policy.Names ["a"]: not together with selectors
}
