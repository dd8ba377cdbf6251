// Package labtest is for tests of controllers: a cluster in memory in which workloads become ready, fail
// and go away as on a real cluster, in virtual time, so that an hour takes no time.
//
// # Terminology
//
// A [Lab] is a cluster with nodes, a scheduler, workload controllers, kubelets for Pods, and Stages
// for Nodes. To drive an object is to give it the status of a state and to hold it there.
//
// # Usage
//
//	lab := labtest.New(t, labtest.Options{})
//	lab.Apply(manifests)  // YAML, or objects
//	lab.WaitCurrent()     // pods are scheduled and start, rollouts end; a failure says what is missing, and why
//
// The code under test uses [Lab.Cluster] or a client of it: package stage/lab/fakes has a client
// of controller-runtime, package stage/lab/apiserver serves the lab to client-go, whole managers and any
// other program, and package stage/lab/gomega has matchers.
// A test makes an object fail:
//
//	lab.Drive(pod, kstatustest.CrashLoopBackOff)
//	lab.Advance(10 * time.Minute)
//	…                     // check how the operator reacted
//	lab.Drive(pod, labtest.Ready)
//	lab.Settle()          // nothing more happens
//
// or takes a node away, as kubectl drain does, as far as PodDisruptionBudgets allow it:
//
//	lab.Drain(node)
//
// or lets random objects fail, which are the same for the same seed:
//
//	lab := labtest.New(t, labtest.Options{Seed: 1, Failures: []labtest.Failure{{State: kstatustest.ImagePullBackOff, Rate: 0.1}}})
//
// CustomResourceDefinitions act as on a cluster: objects of their kinds are pruned, filled in with
// defaults, and refused if their schema or a rule in CEL says so. A kind of Options.Kinds has no schema.
//
// If a kind has no controller in the lab, [StandIns] give its objects the status that means
// success:
//
//	Controllers: labtest.StandIns(certificates)
//
// Kubelets do what Pods say: a container whose command is sleep 30, or sh -c "sleep 30; exit 1", runs
// that long and ends with that code, an image with the tag 404 cannot be pulled, probes and
// terminationGracePeriodSeconds take their time. A container of a Job whose command is not known, or
// that has none, ends with code 0 after a second. So does one with an unknown command in another Pod
// with restartPolicy Never or OnFailure. Any other container runs until it is stopped, and so does a
// command such as sleep infinity. Options.Kubelets.RunUnknown has all of them run. An annotation of
// the Pod says what a container does:
//
//	command.stagecraft-go.github.io/migrate: sleep 5; exit 0
//
// See package stage/lab/controllers/kubelet. If labtest.Options.Stages has Stages for Pods, or OnlyStages is
// set, Stages play all Pods instead. Controllers and kubelets record Events.
//
// Pods start at once. With presets.PodGeneral they take as long as with a kubelet:
//
//	OnlyStages: true, Stages: []stage.Source{presets.NodeFast(), presets.PodGeneral()}
//
// Other Stages simulate any other behaviour, beside the defaults or without them. If only the status
// of an object matters, package kstatus/kstatustest is enough.
//
// # Determinism
//
// The same options and calls give the same lab, byte for byte, unless other goroutines write.
//
// # Concurrency
//
// A Lab must not be used from several goroutines at once; Options.Sync coordinates it with other
// goroutines that use its cluster.
package labtest
