package main

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/kube/nodes"
	"github.com/stagecraft-go/stagecraft/stage/kube/stages"
	"github.com/stagecraft-go/stagecraft/stage/player"
)

// kinds are the kinds that the demo plays. The Stages of a cluster may be for other kinds as well,
// which the demo ignores.
var kinds = map[schema.GroupVersionKind]bool{
	{Version: "v1", Kind: "Node"}: true,
	{Version: "v1", Kind: "Pod"}:  true,
}

// play plays the Stages of the cluster until ctx is done. It plays them on Nodes with a label,
// whose Leases it renews, and on the Pods of these Nodes. It reports failures, which are retried,
// and passes on the events of the player.
func play(ctx context.Context, config *rest.Config, tell func(error), trace func(stage.TraceEvent)) error {
	cluster, err := kube.NewForConfig(config)
	if err != nil {
		return err
	}
	holder, err := nodes.New(cluster, nodes.Options{
		Policy: nodes.Policy{Labels: ours},
		Lease:  nodes.Lease{Identity: "stagecraft-demo"},
		Failed: tell,
	})
	if err != nil {
		return err
	}
	player := player.New(stage.MustCompile(), cluster, player.Options{
		Filter: func(obj *unstructured.Unstructured) bool { return kinds[obj.GroupVersionKind()] && holder.Plays(obj) },
		Select: holder.Rules().Select(),
		Trace:  func(e stage.TraceEvent) { trace(e); failures(tell)(e) },
	})
	return together(ctx,
		func(ctx context.Context) error { return holder.Run(ctx, player.Refilter) },
		func(ctx context.Context) error {
			return stages.Follow(ctx, cluster, player, stages.Options{Failed: tell})
		},
		player.Run,
	)
}

// failures reports errors.
func failures(tell func(error)) func(stage.TraceEvent) {
	return func(e stage.TraceEvent) {
		if e.Err != nil {
			tell(e.Err)
		}
	}
}

// together runs functions until one of them fails or ctx is done, and returns when all have ended.
func together(ctx context.Context, functions ...func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	errs := make([]error, len(functions))
	for i, f := range functions {
		all.Go(func() {
			if err := f(ctx); !errors.Is(err, context.Canceled) {
				errs[i] = err
			}
			cancel()
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
