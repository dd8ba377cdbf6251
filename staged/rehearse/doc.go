// Package rehearse plays a StagedBindingPolicy without a cluster, in virtual time. Stages of kwok
// make the workload available in simulated clusters, a stand-in for KubeStellar reports it to the
// hub, and package staged decides. The result is a [Timeline] with everything that happened, and
// lints.
//
// # Terminology
//
//   - The hub has the workload and the BindingPolicies. A [Cluster] receives the workload; a Set of
//     Stages, or the script of the Cluster, says what its objects do.
//   - A [Timeline] has an [Entry] for each thing that happened, and a [History] of the revisions that
//     each cluster has had. It prints itself as text, as a
//     Gantt chart for mermaid, and, by [WriteHTML], as a page.
//   - A [Lint] is something doubtful: see below.
//   - A [KubeStellar] is the stand-in by itself, for tests of package staged/player, or of any
//     other controller, on a hub in package stage/memory.
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
// The command stagecraft rehearse does this with the policies, objects and clusters of a YAML file.
//
// # Lints
//
// Lints come from compiling the policy, from comparing its selectors with the clusters, and from
// playing each stage alone, with and without its guards. They report:
//
//   - a stage whose selectors match no cluster, and what follows from that;
//   - a condition that is true for some time, and no longer in the end;
//   - a stage that is satisfied without any object to evaluate, or before any cluster has reported;
//   - a stage that is satisfied by stale status: its guards allow clusters that have not reported,
//     are out of date, or report errors, or only its guards refuse it;
//   - a rollout that nothing can move on, or that has not ended when the rehearsal ends;
//   - clusters that several stages select, and clusters that none does;
//   - a cluster that loses a workload that was there before, and a stage with withdrawFirst whose
//     clusters had it;
//   - another policy that has not succeeded, such as one for the same workload in the same clusters;
//   - a failure condition that cannot be evaluated, or is true although nothing is wrong;
//   - the warnings of staged.Compile, such as Rollback in the first stage.
//
// # Scripts
//
// A [Script] says what users and clusters do meanwhile, in YAML:
//
//	changes:
//	- {after: 2m, apply: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2}}}
//	- {after: 5m, join: {name: prod3, labels: {env: prod}}}
//	- {after: 6m, leave: prod1}
//	- {after: 7m, edit: {spec: {paused: true}}}
//	- {after: 8m, approve: before.prod, by: anna}
//	- {after: 8m, gate: {apiVersion: batch/v1, kind: Job, metadata: {namespace: shop, name: check}, status: {succeeded: 1}}}
//	- {after: 9m, loseStatus: true}
//	- {after: 9m, policy: other, edit: {spec: {paused: true}}} # one of Input.Others
//	lag: 1s         # a second player, which sees everything a second late
//	lags: [5s, 30s] # two more
//
// # Determinism
//
// The same Input gives the same Timeline. The random draws of each cluster depend on the seed and
// its name.
//
// # Concurrency
//
// Run uses one goroutine. Arguments are not changed.
//
// # Compatibility
//
// CombinedStatuses are those of mode Upstream of package staged/kubestellar. KubeStellar takes some
// time for each of its steps; the stand-in has only Latency. The objects of a cluster are created
// and deleted with the Binding; their finalizers and owner references stay on the hub.
package rehearse
