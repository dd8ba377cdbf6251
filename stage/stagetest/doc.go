// Package stagetest is for tests: of controllers, in a lab where workloads become ready as on a real cluster, and of Stage files, by stories.
// Both play on an in-memory cluster in virtual time, so that an hour takes no time.
//
// # Terminology
//
// A [Lab] is a cluster with nodes, a scheduler, workload controllers and Stages that play the kubelets. To drive an object is to give it the
// status of a state, and keep it there. A story is a txtar archive that holds Stages, objects, commands and the trace that is wanted.
//
// # Usage of a lab
//
//	lab := stagetest.New(t, stagetest.LabOptions{})
//	lab.Apply(manifests)  // YAML, or objects
//	lab.WaitCurrent()     // pods are scheduled and start, rollouts end; a failure says what is missing, and whose fault it is
//
// What is tested gets [Lab.Cluster], or a client of it: module stage/stagetest/fakes has client-go's fakes and a client of controller-runtime;
// module stage/stagetest/gomega has matchers. What goes wrong is asked for:
//
//	lab.Drive(pod, kstatustest.CrashLoopBackOff)
//	lab.Advance(10 * time.Minute)
//	…                     // what has the operator done about it?
//	lab.Drive(pod, stagetest.Ready)
//	lab.Settle()          // nothing more happens
//
// or happens by chance, to the same objects for the same seed:
//
//	lab := stagetest.New(t, stagetest.LabOptions{Seed: 1, Failures: []stagetest.Failure{{State: kstatustest.ImagePullBackOff, Rate: 0.1}}})
//
// Where a kind has no controller here, [StandIns] give its objects the status that means success:
//
//	Controllers: append(stagetest.Controllers(), stagetest.StandIns(certificates)...)
//
// Pods start at once. With presets.PodGeneral among LabOptions.Stages they take a kubelet's time; other Stages make anything else happen. For an
// object whose status is all that matters, package kstatus/kstatustest is enough.
//
// # Usage of stories
//
//	var update = flag.Bool("update", false, "rewrite the wanted traces")
//
//	func TestStories(t *testing.T) {
//		stagetest.Run(t, "testdata/*.txtar", stagetest.Options{Update: *update})
//	}
//
// Write the commands and the files of a story, then run
//
//	go test -run TestStories -update
//
// which adds the file want. Read it as if it were code: only what is meant to happen may stay. From then on go test compares, and says
// in which line of which file the first difference is. Stages that are kept elsewhere come by [Options.Stages]:
//
//	source, err := stage.Load("../stages")
//	…
//	stagetest.Run(t, "testdata/*.txtar", stagetest.Options{Update: *update, Stages: []stage.Source{source}})
//
// # A story
//
//	# A Pod starts after a second, unless it is deleted before.
//	apply pod.yaml
//	advance 1s
//	show Pod web .status.phase
//	-- stages.yaml --
//	apiVersion: kwok.x-k8s.io/v1alpha1
//	kind: Stage
//	metadata: {name: pod-start}
//	spec:
//	  resourceRef: {kind: Pod}
//	  selector:
//	    matchExpressions:
//	    - {key: .status.phase, operator: In, values: [Pending]}
//	  delay: {durationMilliseconds: 1000}
//	  next:
//	    event: {type: Normal, reason: Started, message: Started web}
//	    statusTemplate: "phase: Running"
//	-- pod.yaml --
//	apiVersion: v1
//	kind: Pod
//	metadata: {name: web}
//	-- want --
//	> apply pod.yaml
//	+0s        Pod default/web scheduled pod-start in 1s
//	> advance 1s
//	+1s        Pod default/web played pod-start
//	           event Normal Started "Started web"
//	           patch strategic /status
//	             status:
//	               phase: Running
//	> show Pod web .status.phase
//	Running
//
// # Commands
//
// What stands before the first file is the story: a command a line. Empty lines and lines that begin with # are for the reader. The last
// argument of a command is the rest of its line. KIND is the name of a kind, such as Pod, or of a kind and its group, such as
// Deployment.apps, where two have the same name. NAME is a name, or namespace/name; the namespace is default unless it is given.
//
// These set the stage, and stand before all others:
//
//	seed NUMBER        decides all draws; 0 unless it is given
//	start TIME         the time at which the story begins, as in 2006-01-02T15:04:05Z, which it is unless it is given
//	stages FILE...     the files that hold the Stages; stages.yaml unless they are given
//	lenient            compiles the Stages leniently
//	kind GROUP/VERSION KIND [cluster]
//	                   declares a kind that has no definition: namespaced, or cluster-scoped, with a status subresource
//
// These change the cluster, as its users would. What it refuses is printed. Stages look at the change at once but nothing is played before time goes on,
// by no more than advance 0s.
//
//	apply FILE              creates the objects of a file, each with its status, or makes them what the file says
//	patch KIND NAME YAML    merges YAML in braces, or in a file, into an object
//	status KIND NAME YAML   merges it into the status
//	delete KIND NAME        deletes an object
//
// These let time go on:
//
//	advance DURATION    plays everything that is due within the duration, its end included
//	settle [DURATION]   plays until nothing is left to happen, for at most the duration, 10m unless it is given
//
// These print:
//
//	show KIND NAME [JQ]    the object as YAML without managedFields, resourceVersion and uid, or the outputs of a jq expression on all of it
//	candidates KIND NAME   the Stages that match the object, their chances, weights and possible delays
//
// # Files
//
// Stages, objects and lists of them are YAML or JSON, any number to a file; a file may hold both Stages and objects. The
// CustomResourceDefinitions of all files are in the cluster from the start. The file want is the trace.
//
// # Trace
//
// Commands are echoed after a >. What happens has the virtual time since the start in front, cut to milliseconds:
//
//	Pod default/web scheduled STAGE in 1s (weight 3)   it matches, and STAGE was drawn; a weight of 0 is not printed
//	Pod default/web cancelled STAGE                    it stopped matching, or went, before it was due
//	Pod default/web played STAGE                       the effects stand below, in their order
//	Pod default/web gone
//	failed: …                                          an effect that could not be rendered or sent, or a livelock
//	error: …                                           what the cluster answered to a command
//	settled, not settled, next in 5s                   how settle ended
//
// Patches and applied objects are printed as YAML, JSON patches as one operation a line. A patch that changes nothing is not sent, and marked.
// Warnings about the Stages come first. Stages with faults are not played: their faults are the trace.
//
// # Determinism
//
// The same options and the same calls give the same lab, byte for byte, unless other goroutines write. A story has the same trace on every
// machine: uids, generated names and draws depend on the seed, addresses on the order of events, which is always the same, and times are virtual.
//
// # Concurrency
//
// [Play] may be called from several goroutines at once. A Lab belongs to one; what uses its cluster from others can be had in step by
// LabOptions.Follow.
package stagetest
