// Package labtest has a cluster in memory for tests of controllers. Workloads become ready, fail
// and go away as on a real cluster. Time is virtual, so an hour takes no time.
//
// # Terminology
//
// A [Lab] is a cluster with nodes, a scheduler, workload controllers, kubelets for Pods, and Stages
// for Nodes. To drive an object means to give it the status of a state and to keep it there.
//
// # Usage
//
//	lab := labtest.New(t, labtest.Options{})
//	lab.Apply(manifests)  // YAML, or objects
//	lab.WaitCurrent()     // pods are scheduled and start, rollouts end; a failure says what is missing, and why
//
// Apply refuses a manifest with a typo, as kubectl does, and names each fault with its line:
//
//	manifest:7:3: Deployment web: unknown field "spec.replica"
//
// The code under test uses [Lab.Cluster], or a client of it. Package stage/lab/fakes/ctrlruntime
// has a client for controller-runtime. Package stage/lab/apiserver serves the lab to client-go,
// whole managers and any other program. Package stage/lab/gomega has matchers. A test makes an
// object fail:
//
//	lab.Drive(pod, kstatustest.CrashLoopBackOff)
//	lab.Advance(10 * time.Minute)
//	…                     // check how the operator reacted
//	lab.Drive(pod, labtest.Ready)
//	lab.Settle()          // nothing more happens
//
// or takes a node away, like kubectl drain, as far as PodDisruptionBudgets allow it:
//
//	lab.Drain(node)
//
// or lets random objects fail, always the same ones for the same seed:
//
//	lab := labtest.New(t, labtest.Options{Seed: 1, Failures: []labtest.Failure{{State: kstatustest.ImagePullBackOff, Rate: 0.1}}})
//
// Controllers under test run in the virtual time of the lab. Options.Operator makes them when the
// cluster exists, so that they have their client before anything happens, and Options.Objects are the
// objects that they find:
//
//	lab := labtest.New(t, labtest.Options{Definitions: crds, Objects: []any{configuration}, Operator: func(cluster *memory.Cluster) []reconcile.Controller {
//		c := ctrlruntime.New(cluster, ctrlruntime.Options{Scheme: scheme})
//		return []reconcile.Controller{ctrlruntime.Controller(&WebsiteReconciler{Client: c}, websites, deployments)}
//	}})
//
// The time of a lab begins in 2006. For a program that reads the real clock, as metav1.Now does, no
// time passes; the lab says so once ([Lab.RealClock]). Give it [Lab.Now], or begin the lab now with
// Options.Start: time.Now().
//
// CustomResourceDefinitions act as on a cluster. The lab prunes objects of their kinds, fills in
// defaults, and refuses objects that violate the schema or a CEL rule. A kind of Options.Kinds has
// no schema.
//
// If a kind has no controller in the lab, [StandIns] give its objects the status of success:
//
//	Controllers: labtest.StandIns(certificates)
//
// Kubelets do what Pods say. A container whose command is sleep 30, or sh -c "sleep 30; exit 1",
// runs that long and ends with that code. An image with the tag 404 cannot be pulled. Probes and
// terminationGracePeriodSeconds take their time.
//
// A container of a Job with an unknown command, or without one, ends with code 0 after a second. So
// does a container with an unknown command in another Pod with restartPolicy Never or OnFailure.
// Any other container runs until it is stopped, as does a command such as sleep infinity. With
// Options.Kubelets.RunUnknown, all containers with an unknown command run until they are stopped.
//
// An annotation of the Pod says what a container does:
//
//	command.stagecraft-go.github.io/migrate: sleep 5; exit 0
//
// Logs, commands, ports and usage of containers are functions of Options.Containers, for plain calls
// ([Lab.Logs], [Lab.Exec]) and for kubectl, see package stage/lab/containers:
//
//	result, err := lab.Exec("db-0", "", "redis-cli", "ping")
//
// See package stage/lab/controllers/kubelet. If labtest.Options.Stages has Stages for Pods, or
// OnlyStages is set, Stages play all Pods instead. Controllers and kubelets record Events.
//
// Pods start at once. With presets.PodGeneral they take as long as with a kubelet:
//
//	OnlyStages: true, Stages: []stage.Source{presets.NodeFast(), presets.PodGeneral()}
//
// With Options.Backup a lab goes on from the state of another cluster, such as a real one that kubectl
// has printed, see package stage/lab/backup. Its Nodes and Pods stay as they are; its kubelets go on.
//
// Other Stages simulate any other behavior, in addition to the defaults or without them. If only
// the status of an object matters, package kstatus/kstatustest is enough.
//
// # Determinism
//
// The same options and calls give the same lab, byte for byte, unless other goroutines write to it.
//
// # Concurrency
//
// A Lab must not be used from several goroutines at once; Options.Sync coordinates it with other
// goroutines that use its cluster.
package labtest
