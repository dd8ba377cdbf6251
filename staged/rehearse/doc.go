// Package rehearse plays a StagedBindingPolicy without a cluster, in virtual time: stages of kwok make the workload available in named clusters,
// a stand-in for KubeStellar reports it to the hub, and package staged decides. What happened is a [Timeline], what is doubtful are its lints.
//
// # Usage
//
//	timeline, err := rehearse.Run(ctx, rehearse.Input{
//		Policy:     policy,                                     // v1alpha1.StagedBindingPolicy
//		Collectors: []control.StatusCollector{aggregator},
//		Objects:    []*unstructured.Unstructured{deployment},
//		Clusters:   []rehearse.Cluster{{Name: "dev1", Labels: map[string]string{"env": "dev"}}},
//		Stages:     set,                                        // what Deployments do in a cluster
//		Latency:    2 * time.Second,
//	})
//	fmt.Print(timeline)
//
// # Determinism
//
// The same Input gives the same Timeline. Each cluster draws from the seed and its name.
//
// # Concurrency
//
// Run uses one goroutine. Arguments are only read.
package rehearse
