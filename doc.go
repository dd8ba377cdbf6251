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
//     that needs no cluster
//   - github.com/stagecraft-go/stagecraft/stage/kube, a module of its own: real clusters, by
//     client-go or controller-runtime
//   - [github.com/stagecraft-go/stagecraft/stage/reconcile]: controllers on any clock, and below it
//     timing: how long requests take, by rate limits, latencies, and watches that lag
//   - [github.com/stagecraft-go/stagecraft/stage/simulation]: a Set, an API server in memory,
//     controllers of yours and a virtual clock
//   - [github.com/stagecraft-go/stagecraft/stage/stagetest]: tests of Stage files, written as txtar
//     stories
//   - [github.com/stagecraft-go/stagecraft/stage/lint],
//     [github.com/stagecraft-go/stagecraft/stage/explore] and
//     [github.com/stagecraft-go/stagecraft/stage/diagram]: what compiles but cannot be meant; every
//     life that an object can have; pictures
//   - [github.com/stagecraft-go/stagecraft/selector], [github.com/stagecraft-go/stagecraft/delay]
//     and [github.com/stagecraft-go/stagecraft/render]: the parts of a Stage, usable on their own
//
// github.com/stagecraft-go/stagecraft/stage/lab, a module of its own, is Kubernetes itself, modelled: its
// controllers, scheduler and kubelets, a cluster in a test, an HTTP server for any client, and a hunt
// for the interleaving that breaks a controller.
//
// # What state it is in
//
//   - [github.com/stagecraft-go/stagecraft/kstatus]: Current, InProgress, Failed, Terminating,
//     NotFound or Unknown, and why; the rules of upstream, exact, and Extended ones that are right
//     more often
//   - [github.com/stagecraft-go/stagecraft/kstatus/celrule]: rules written in CEL
//   - [github.com/stagecraft-go/stagecraft/kstatus/audit]: what tools see of a kind, and what to fix
//   - [github.com/stagecraft-go/stagecraft/kstatus/wait]: waiting for objects, by watch or by
//     polling
//   - [github.com/stagecraft-go/stagecraft/kstatus/kstatustest]: objects made current for tests,
//     and what a status lacks
//
// # May the rollout go on
//
//   - [github.com/stagecraft-go/stagecraft/staged]: StagedBindingPolicies, decided purely and
//     explained
//   - [github.com/stagecraft-go/stagecraft/staged/bindingpolicy]: places the workload through
//     KubeStellar
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
