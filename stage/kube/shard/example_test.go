package shard_test

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/kube/shard"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

func Example() {
	member, err := shard.New(memory.New(memory.Options{}), shard.Options{Group: "players", Identity: "player-0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, leave := context.WithCancel(context.Background())
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "n1"}}}
	fmt.Println("before:", member.Owns(obj))
	_ = member.Run(ctx, func() { // a Player would be told to Refilter
		fmt.Println(member.Members(), member.Owns(obj))
		leave()
	})
	// Output:
	// before: false
	// [player-0] true
	// [] false
}

// Replicas that come and go take or leave their own share only.
func ExampleOwner() {
	for _, members := range [][]string{{"a"}, {"a", "b"}, {"a", "b", "c"}} {
		var owners []string
		for _, key := range keysOf(12) {
			owners = append(owners, shard.Owner(members, key))
		}
		fmt.Println(owners)
	}
	// Output:
	// [a a a a a a a a a a a a]
	// [b b b b a b b a b a a a]
	// [b b b c c c c c b c a c]
}
