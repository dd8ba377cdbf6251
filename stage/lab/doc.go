// Package lab is the map of the module: a Kubernetes in memory. The core of stagecraft decides
// about objects and plays Stages on them. It does not know the meaning of Kubernetes' built-in
// kinds; the packages of this module do. This package has no code.
//
// # Test with a cluster
//
//   - [github.com/stagecraft-go/stagecraft/stage/lab/labtest]: a cluster in a test, with nodes,
//     controllers and kubelets, in virtual time
//   - [github.com/stagecraft-go/stagecraft/stage/lab/hunt]: finds a crash, a late watch or a lost
//     answer that breaks a controller
//   - [github.com/stagecraft-go/stagecraft/stage/lab/apiserver]: the cluster behind the HTTP API of
//     kube-apiserver, for any client; its package hunting hunts in whole managers
//   - [github.com/stagecraft-go/stagecraft/stage/lab/envtest]: programs that replace etcd and
//     kube-apiserver in tests that use envtest of controller-runtime
//   - [github.com/stagecraft-go/stagecraft/stage/lab/fakes/ctrlruntime] and
//     [github.com/stagecraft-go/stagecraft/stage/lab/gomega]: a client for controller-runtime, and
//     matchers for Gomega
//
// # What objects mean
//
//   - [github.com/stagecraft-go/stagecraft/stage/lab/defaults] and
//     [github.com/stagecraft-go/stagecraft/stage/lab/validation]: what kube-apiserver fills in and
//     refuses in objects of built-in kinds
//
//   - [github.com/stagecraft-go/stagecraft/stage/lab/definitions]: the same for the kinds of
//     CustomResourceDefinitions; [github.com/stagecraft-go/stagecraft/stage/lab/definitions/validity] checks
//     the definitions themselves
//
//   - [github.com/stagecraft-go/stagecraft/stage/lab/controllers]: the controllers of Kubernetes.
//     The packages below it are workloads, batch, autoscaling, scheduling, nodes, volumes,
//     services, namespaces, roles, certificates, disruption, quota, admission, resources, kubelet, which runs Pods, and
//     features, which reports fields that are not modelled
//
//   - [github.com/stagecraft-go/stagecraft/stage/lab/containers]: what containers print, answer and
//     use, as functions: logs, exec, port-forward and usage;
//     [github.com/stagecraft-go/stagecraft/stage/lab/containers/kwok] reads kwok's files of them
//
// # Study in virtual time
//
//   - [github.com/stagecraft-go/stagecraft/stage/lab/load] and
//     [github.com/stagecraft-go/stagecraft/stage/lab/fault]: which work arrives and when, and what fails
//   - [github.com/stagecraft-go/stagecraft/stage/lab/record],
//     [github.com/stagecraft-go/stagecraft/stage/lab/measure] and
//     [github.com/stagecraft-go/stagecraft/stage/lab/expect]: a log of what happened, metrics of that log,
//     and assertions about metrics
//   - [github.com/stagecraft-go/stagecraft/stage/lab/sweep],
//     [github.com/stagecraft-go/stagecraft/stage/lab/statistics] and
//     [github.com/stagecraft-go/stagecraft/stage/lab/progress]: runs with many parameters and
//     seeds, confidence intervals of the results, and a progress line on the terminal
//   - [github.com/stagecraft-go/stagecraft/stage/lab/backup]: the state of a cluster, a real one or
//     one in memory, as a file from which a lab goes on
//   - [github.com/stagecraft-go/stagecraft/stage/lab/fit]: delays of Stages from observed durations
//
// # Compatibility
//
// FEATURES.md lists the fields of built-in kinds and says which of them have an effect. The module may
// change in every version.
package lab
