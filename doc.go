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
//   - github.com/stagecraft-go/stagecraft/stage/kube, a separate module: real clusters, by
//     client-go or controller-runtime
//   - [github.com/stagecraft-go/stagecraft/stage/reconcile]: controllers on any clock, and below it
//     timing: models the time of requests: rate limits, latencies, and late watches
//   - [github.com/stagecraft-go/stagecraft/stage/simulation]: a Set, an API server in memory, your
//     controllers and a virtual clock
//   - [github.com/stagecraft-go/stagecraft/stage/stagetest]: tests of Stage files, written as txtar
//     stories
//   - [github.com/stagecraft-go/stagecraft/stage/lint],
//     [github.com/stagecraft-go/stagecraft/stage/explore] and
//     [github.com/stagecraft-go/stagecraft/stage/diagram]: mistakes that compile; every life that
//     an object can have; pictures
//   - [github.com/stagecraft-go/stagecraft/selector], [github.com/stagecraft-go/stagecraft/delay]
//     and [github.com/stagecraft-go/stagecraft/render]: the parts of a Stage, usable on their own
//
// github.com/stagecraft-go/stagecraft/stage/lab, a separate module, models Kubernetes itself: its
// controllers, scheduler and kubelets. It has a cluster for tests, an HTTP server for any client,
// and a hunt, which searches for the order of events that breaks a controller.
//
// # What state it is in
//
//   - [github.com/stagecraft-go/stagecraft/kstatus]: Current, InProgress, Failed, Terminating,
//     NotFound or Unknown, and why; the exact rules of upstream, and Extended rules that are right
//     more often
//   - [github.com/stagecraft-go/stagecraft/kstatus/celrule]: rules written in CEL
//   - [github.com/stagecraft-go/stagecraft/kstatus/audit]: what tools see of a kind, and what to
//     fix
//   - [github.com/stagecraft-go/stagecraft/kstatus/wait]: waiting for objects, by watch or by
//     polling
//   - [github.com/stagecraft-go/stagecraft/kstatus/kstatustest]: makes objects Current for tests,
//     and says what a status lacks
//
// # May the rollout go on
//
//   - [github.com/stagecraft-go/stagecraft/staged]: StagedBindingPolicies, decided purely and
//     explained
//   - [github.com/stagecraft-go/stagecraft/staged/fleet]: what a rollout and a transport tell each
//     other
//   - [github.com/stagecraft-go/stagecraft/staged/bindingpolicy]: places the workload through
//     KubeStellar
//   - [github.com/stagecraft-go/stagecraft/staged/manifestwork] and
//     [github.com/stagecraft-go/stagecraft/staged/application]: the same through Open Cluster
//     Management and Argo CD
//   - [github.com/stagecraft-go/stagecraft/staged/player]: applies the decisions to a hub
//   - [github.com/stagecraft-go/stagecraft/staged/kubestellar]: what KubeStellar computes:
//     matching, Bindings, CombinedStatuses
//   - [github.com/stagecraft-go/stagecraft/staged/rehearse]: rollouts in virtual time, with lints
//
// The API types, with their JSON tags and nothing else, are in stage/v1alpha1, staged/v1alpha1 and
// staged/control.
//
// # How it is built
//
// Decisions are pure functions of an object, a time and a seed, and effects are data. Only the
// players and the packages that need a player read a clock or send requests. Compiling a Stage file
// reports all its faults at once, with file, line and column.
package stagecraft
