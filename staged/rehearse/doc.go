// Package rehearse plays a StagedBindingPolicy without a cluster, in virtual time: stages of kwok make the workload available in named clusters,
// a stand-in for KubeStellar reports it to the hub, and package staged decides. What happened is a [Timeline], what is doubtful are its lints.
//
// # Terminology
//
//   - The hub has the workload and the BindingPolicies; a [Cluster] receives workload. What goes on in it says a Set of Stages, or its script.
//   - A [Timeline] has an [Entry] for each thing that happened; it prints itself as text, as a Gantt chart for mermaid, and, by [WriteHTML], as a page.
//   - A [Lint] is something doubtful: see below.
//   - A [KubeStellar] is the stand-in by itself, for tests of a [staged.Player] or of a controller of one's own on a hub in package stage/memory.
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
// The command examples/rollout does that with the policies, objects and clusters of a YAML file.
//
// # Lints
//
// They are found by compiling the policy, by comparing its selectors with the clusters, and by playing each stage alone, with and without its guards:
//
//   - a stage whose selectors match no cluster, and what comes of that;
//   - a condition that is true only in passing, and no longer in the end;
//   - a gate that is satisfied vacuously: without an object to look at, or before any cluster has reported;
//   - a gate that is satisfied by stale status: its guards allow that clusters are silent, out of date, or report errors, or nothing but its guards refuses it;
//   - a rollout that is stuck for good, or not over when the rehearsal ends;
//   - warnings of staged.Compile.
//
// # Determinism
//
// The same Input gives the same Timeline. Each cluster draws from the seed and its name.
//
// # Concurrency
//
// Run uses one goroutine. Arguments are only read.
//
// # Compatibility
//
// CombinedStatuses are those of mode Upstream of package staged/kubestellar. Where KubeStellar takes its time, the stand-in has one: Latency. The objects
// of a cluster come and go with the Binding; finalizers and owners stay on the hub.
package rehearse
