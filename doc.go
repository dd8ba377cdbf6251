// Package stagecraft answers three questions about Kubernetes objects, purely and fast: what
// happens to this object next, and when; what state it is in; and whether a rollout may go on. This
// package holds no code; it is the map of the module.
//
// # What happens next
//
//   - [github.com/stagecraft-go/stagecraft/stage]: kwok Stages compiled into a Set, which decides
//     without side effects; an Engine remembers what is due
//   - [github.com/stagecraft-go/stagecraft/stage/player]: plays a Set on any transport, in real
//     time or in a testing/synctest bubble
//   - [github.com/stagecraft-go/stagecraft/stage/transport]: the requests of a cluster, as
//     interfaces
//   - [github.com/stagecraft-go/stagecraft/stage/presets]: Stage sets for the usual lifecycles of
//     pods, nodes and volumes
//   - [github.com/stagecraft-go/stagecraft/stage/memory]: an API server in memory, the transport
//     that needs no cluster; [github.com/stagecraft-go/stagecraft/stage/lab/defaults] fills in what
//     objects leave open, and [github.com/stagecraft-go/stagecraft/stage/lab/validation] refuses what is
//     not valid, as kube-apiserver does
//   - github.com/stagecraft-go/stagecraft/stage/kube, a module of its own: real clusters, by
//     client-go or controller-runtime
//   - [github.com/stagecraft-go/stagecraft/stage/simulation]: a Set, an API server in memory and a
//     virtual clock
//   - below it load, fault, record, measure and expect: which work arrives and when, what fails, a
//     log of what happened, metrics of that log, and assertions about metrics; sweep runs parameters
//     and seeds, statistics says how far to trust the result, progress draws a line on the terminal
//   - [github.com/stagecraft-go/stagecraft/stage/reconcile] and
//     [github.com/stagecraft-go/stagecraft/stage/lab/controllers]: controllers on the same clock; below
//     controllers those of Kubernetes: workloads, batch, autoscaling, scheduling, nodes, volumes,
//     services, disruption, quota, admission, resources, kubelet, which does what Pods say, and
//     features, which says what of all this is modelled, and reports the use of what is not
//   - [github.com/stagecraft-go/stagecraft/stage/reconcile/timing]: how long requests take: rate limits,
//     latencies, and watches that lag
//   - [github.com/stagecraft-go/stagecraft/stage/lab/hunt]: deterministic simulation testing: looks for
//     the crashes, lags, lost answers and actions of users that break a controller
//   - [github.com/stagecraft-go/stagecraft/stage/stagetest]: a lab in which workloads become ready,
//     fail and go away in virtual time, for tests of controllers; and tests of Stage files, written
//     as txtar stories
//   - github.com/stagecraft-go/stagecraft/stage/lab/apiserver, a module of its own: a cluster in memory
//     behind the HTTP API of kube-apiserver, for any client
//   - [github.com/stagecraft-go/stagecraft/stage/lint],
//     [github.com/stagecraft-go/stagecraft/stage/explore] and
//     [github.com/stagecraft-go/stagecraft/stage/diagram]: what compiles but cannot be meant; every
//     life that an object can have; pictures
//   - [github.com/stagecraft-go/stagecraft/stage/lab/fit]: delays of Stages from durations that were
//     observed
//   - [github.com/stagecraft-go/stagecraft/selector], [github.com/stagecraft-go/stagecraft/delay]
//     and [github.com/stagecraft-go/stagecraft/render]: the parts of a Stage, usable on their own
//
// # What state it is in
//
//   - [github.com/stagecraft-go/stagecraft/kstatus]: Current, InProgress, Failed, Terminating,
//     NotFound or Unknown, and why; the rules of upstream, exact, and Extended ones that are right
//     more often
//   - [github.com/stagecraft-go/stagecraft/kstatus/celrule]: rules written in CEL
//   - [github.com/stagecraft-go/stagecraft/kstatus/wait]: waiting for objects, by watch or by
//     polling
//   - [github.com/stagecraft-go/stagecraft/kstatus/kstatustest]: objects made current for tests,
//     and what a status lacks
//
// # May the rollout go on
//
//   - [github.com/stagecraft-go/stagecraft/staged]: StagedBindingPolicies, decided purely and
//     explained
//   - [github.com/stagecraft-go/stagecraft/staged/player]: carries the decisions out on a hub
//   - [github.com/stagecraft-go/stagecraft/staged/kubestellar]: what KubeStellar computes:
//     matching, Bindings, CombinedStatuses
//   - [github.com/stagecraft-go/stagecraft/staged/rehearse]: rollouts in virtual time, with lints
//
// The API types, with their JSON tags and nothing else, are in stage/v1alpha1, staged/v1alpha1 and
// staged/control.
//
// # How it is built
//
// Decisions are pure functions of an object, a time and a seed; effects are data; only the players
// and the packages that need them read a clock or send requests. Faults in Stage files are found
// when they are compiled, all at once, with file, line and column.
package stagecraft
