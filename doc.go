// Package stagecraft answers three questions about Kubernetes objects, purely and fast: what
// happens to this object next, and when; what state it is in; and whether a rollout may go on. This
// package holds no code; it is the map of the module.
//
// # What happens next
//
//   - [github.com/stagecraft-go/stagecraft/stage]: kwok Stages, compiled into a Set, decided
//     without side effects, and played by an Engine in virtual time or a Player in real time
//   - [github.com/stagecraft-go/stagecraft/stage/presets]: Stage sets for the stock lifecycles of
//     pods, nodes and volumes
//   - [github.com/stagecraft-go/stagecraft/stage/memory]: an in-memory API server, the transport
//     that needs no cluster
//   - github.com/stagecraft-go/stagecraft/stage/kube, a module of its own: real clusters, by
//     client-go or controller-runtime
//   - [github.com/stagecraft-go/stagecraft/stage/simulation]: a Set, an in-memory cluster and a
//     virtual clock
//   - below it load, fault, record, measure and expect: what arrives, what goes wrong, what
//     happened, in numbers, and what they should be
//   - [github.com/stagecraft-go/stagecraft/stage/reconcile] and
//     [github.com/stagecraft-go/stagecraft/stage/controllers]: controllers on the same clock; the
//     workload controllers of Kubernetes and a scheduler
//   - [github.com/stagecraft-go/stagecraft/stage/stagetest]: a lab in which workloads become ready,
//     fail and go away in virtual time, for tests of controllers; and tests of Stage files, written
//     as txtar stories
//   - [github.com/stagecraft-go/stagecraft/stage/lint],
//     [github.com/stagecraft-go/stagecraft/stage/explore] and
//     [github.com/stagecraft-go/stagecraft/stage/diagram]: what compiles but cannot be meant; every
//     life that an object can have; pictures
//   - github.com/stagecraft-go/stagecraft/stage/kube, a module of its own: real clusters, with
//     client-go or controller-runtime
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
//   - [github.com/stagecraft-go/stagecraft/staged/player]: all I/O of staged rollouts: decisions
//     carried out on a hub
//   - [github.com/stagecraft-go/stagecraft/staged/kubestellar]: what KubeStellar computes:
//     matching, Bindings, CombinedStatuses
//   - [github.com/stagecraft-go/stagecraft/staged/rehearse]: rollouts in virtual time, with lints
//
// # How it is built
//
// Decisions are pure functions of an object, a time and a seed; effects are data; input and output
// happen in one place; faults in Stage files are found when they are compiled, all at once, with
// file, line and column.
package stagecraft
