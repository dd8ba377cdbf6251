// Package kueue simulates Kueue's performance runner (test/performance/scheduler of
// sigs.k8s.io/kueue at v0.20.0-devel): 15,000 to 50,000 Workloads in ClusterQueues that share quota
// in cohorts, on a control plane that does nothing else.
//
// # Usage
//
//	config, err := kueue.Parse("generator.yaml", text)
//	result, err := kueue.Run(ctx, config, kueue.Defaults())
//	fmt.Println(result.Wall, result.Use, result.Admission["small"])
//
// # What is modelled
//
//   - The runner: each set of Workloads is created one after another, at its interval. When the
//     runner sees that a Workload is admitted, it finishes the Workload after its runtime. An
//     evicted Workload gives back its quota.
//   - Kueue's scheduler: a cycle takes the head of each ClusterQueue (priority, then age) and
//     decides with a snapshot which of them fit. It admits first the Workloads that do not borrow,
//     then by priority and age. A Workload that does not fit preempts Workloads of lower priority
//     in its own queue, or Workloads of queues that borrow.
//   - Quota is taken when the scheduler decides, and given back when Kueue sees the Workload finished.
//     The admission is written in the meantime, by a client with 50 requests a second: most of the
//     time of a run Workloads hold quota and wait for that.
//   - A Workload that does not fit parks all Workloads that are scheduled alike
//     (SchedulingEquivalenceHashing). They are tried again a second after a Workload in the cohort
//     gave quota back.
//   - The condition of a waiting Workload is written when its text changes; the scheduler waits for
//     that.
//
// # What is not modelled
//
// Statuses of ClusterQueues and LocalQueues, which have their own clients, the CPU time of the API
// server, and the placement of topology-aware scheduling. The nodes have a hundred times the quota,
// but Kueue searches them and writes more. A run here does neither.
//
// # Determinism
//
// The seed decides the latencies of requests, and with them the order of events. The same Config
// and Options give the same Result.
//
// # Concurrency
//
// [Run] may be called from several goroutines at once.
package kueue
