// Package manifestwork brings revisions to clusters through Open Cluster Management: one ManifestWork
// for each policy and cluster, in the namespace of the cluster. Its content is the snapshot, so that
// an old revision can be placed at any time, and a cluster keeps what it has until a program writes.
// Objects are read unstructured; Open Cluster Management is not imported.
//
// # Terminology
//
//   - A ManifestWork is the order to the agent of a cluster. Each manifest in it is a copy that carries
//     the revision in the annotation community.kubestellar.io/revision; the user's object is not
//     touched.
//   - Applied is what the agent confirms for the generation that was written.
//   - Feedback is values of the status of the objects that the agent returns. A condition rule in the
//     ManifestWork compares the annotation of the live object, and its generations, with the
//     revision: a feedback next to a true condition is of that revision, which is evidence Exact.
//
// # Usage
//
//	works := manifestwork.New(hub, manifestwork.Options{Clusters: clusters})
//	err := player.Play(ctx, hub, player.Options{Transport: works, Workload: kinds})
//
// # Limits
//
// Feedback is single values below .status: Options.Feedback names them. What is not named is not in
// returned.status. An agent without condition rules of type CEL gives evidence None. A ManifestWork is at
// most about 500 KiB: a larger revision is refused by the API server, and the message of the rollout says
// so. Removal leaves the objects in the cluster if the StagedBindingPolicy is orphaned, and removes them
// else. Another ManifestWork that brings an object of the workload to the same cluster is a conflict: the
// first one goes on.
//
// # Concurrency
//
// A Transport must not be used from several goroutines at once. A Player uses it from one.
package manifestwork
