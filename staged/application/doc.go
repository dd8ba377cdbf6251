// Package application brings revisions to clusters through Argo CD: one Application for each cluster.
// A revision is the source of the Application with an immutable targetRevision: a commit or a digest.
// Git holds the content, so that an old revision can be placed at any time, and a cluster keeps what
// it has until a program writes. Objects are read unstructured; Argo CD is not imported.
//
// # Terminology
//
//   - The wanted source stands in the annotation [SourceAnnotation] of the StagedBindingPolicy, as JSON:
//     a spec.source of an Application. People or CI write it.
//   - Applied is a sync status Synced with the revision of the source, compared to that source, while
//     no operation runs. Sync and health of an Application are written from one comparison: evidence
//     Exact.
//
// # Usage
//
//	apps := application.New(hub, application.Options{Clusters: clusters, Name: application.ByCluster("guestbook"), Namespace: "argocd"})
//	err := player.Play(ctx, hub, player.Options{Transport: apps})
//
// # Limits
//
// A condition sees one row for each cluster: returned.status has health, sync, revision and message.
// The Applications must exist, have one spec.source and automated sync, and belong to no ApplicationSet,
// whose controller would write the source back: the message of the rollout names one that does not.
// An Application belongs to one policy at a time, the first: for another one it is a conflict. Nothing is
// created and nothing is removed. A sync that goes back may prune what the newer revision had added.
//
// # Concurrency
//
// A Transport must not be used from several goroutines at once. A Player uses it from one.
package application
