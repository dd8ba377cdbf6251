package player_test

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/player"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// The player creates the BindingPolicy of the first stage on a hub in memory. The second stage waits
// for the condition of the first one.
func ExamplePlay() {
	ctx, stop := context.WithCancel(context.Background())
	kind := func(name, resource string, clusterScoped bool) memory.Kind {
		return memory.Kind{GroupVersionKind: control.GroupVersion.WithKind(name), Resource: resource, ClusterScoped: clusterScoped}
	}
	hub := memory.New(memory.Options{Kinds: []memory.Kind{
		kind("BindingPolicy", "bindingpolicies", true), kind("Binding", "bindings", true), kind("CombinedStatus", "combinedstatuses", false),
	}})
	err := hub.Load(ctx, []byte(v1alpha1.CRD()+"\n---\n"+twoStages("")))
	if err != nil {
		panic(err)
	}
	err = player.Play(ctx, hub, player.Options{Trace: func(e player.TraceEvent) {
		if e.Err != nil {
			fmt.Println(e.Err)
		}
		fmt.Println("active stage:", e.Decision.Status.ActiveStage)
		stop() // a program goes on until it ends
	}})
	policy, _ := hub.Get(context.Background(), control.GroupVersion.WithKind("BindingPolicy"), types.NamespacedName{Name: "s.stage.dev"})
	fmt.Println(err, policy != nil)
	// Output:
	// active stage: dev
	// context canceled true
}
