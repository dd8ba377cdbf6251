// Package stagetest is for tests: of controllers, in a lab where workloads become ready as on a
// real cluster, and of Stage files, by stories. Both run on an in-memory cluster in virtual time,
// so that an hour takes no time.
//
// # Terminology
//
// A [Lab] is a cluster with nodes, a scheduler, workload controllers, kubelets for Pods, and Stages
// for Nodes. To drive an object is to give it the status of a state and to hold it there. A story is
// a txtar archive with Stages, objects, commands and the wanted trace.
//
// # Usage of a lab
//
//	lab := stagetest.New(t, stagetest.LabOptions{})
//	lab.Apply(manifests)  // YAML, or objects
//	lab.WaitCurrent()     // pods are scheduled and start, rollouts end; a failure says what is missing, and why
//
// The code under test uses [Lab.Cluster] or a client of it: module stage/stagetest/fakes has
// client-go's fakes and a client of controller-runtime; module stage/stagetest/gomega has matchers.
// A test makes an object fail:
//
//	lab.Drive(pod, kstatustest.CrashLoopBackOff)
//	lab.Advance(10 * time.Minute)
//	…                     // check how the operator reacted
//	lab.Drive(pod, stagetest.Ready)
//	lab.Settle()          // nothing more happens
//
// or takes a node away, as kubectl drain does, as far as PodDisruptionBudgets allow it:
//
//	lab.Drain(node)
//
// or lets random objects fail, which are the same for the same seed:
//
//	lab := stagetest.New(t, stagetest.LabOptions{Seed: 1, Failures: []stagetest.Failure{{State: kstatustest.ImagePullBackOff, Rate: 0.1}}})
//
// If a kind has no controller in the lab, [StandIns] give its objects the status that means
// success:
//
//	Controllers: stagetest.StandIns(certificates)
//
// Kubelets do what Pods say: a container whose command is sleep 30, or sh -c "sleep 30; exit 1", runs
// that long and ends with that code, an image with the tag 404 cannot be pulled, probes and
// terminationGracePeriodSeconds take their time. A container of a Job whose command is not known, or
// that has none, ends with code 0 after a second. So does one with an unknown command in another Pod
// with restartPolicy Never or OnFailure. Any other container runs until it is stopped, and so does a
// command such as sleep infinity. LabOptions.Kubelets.RunUnknown has all of them run. An annotation of
// the Pod says what a container does:
//
//	command.stagecraft-go.github.io/migrate: sleep 5; exit 0
//
// See package stage/controllers/kubelet. If LabOptions.Stages has Stages for Pods, or OnlyStages is
// set, Stages play all Pods instead. Controllers and kubelets record Events.
//
// Pods start at once. With presets.PodGeneral they take as long as with a kubelet:
//
//	OnlyStages: true, Stages: []stage.Source{presets.NodeFast(), presets.PodGeneral()}
//
// Other Stages simulate any other behaviour, beside the defaults or without them. If only the status
// of an object matters, package kstatus/kstatustest is enough.
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
// which adds the file want. Review it like code: it must contain only what is meant to happen. From
// then on go test compares, and reports the file and line of the first difference. [Options.Stages]
// adds Stages that are not in the archive:
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
// The text before the first file is the story: one command on each line. Empty lines and lines that
// begin with # are ignored. The last argument of a command is the rest of its line. KIND is the
// name of a kind, such as Pod, or of a kind and its group, such as Deployment.apps, if two kinds
// have the same name. NAME is a name, in the namespace default, or namespace/name.
//
// These are settings, and come before all others:
//
//	seed NUMBER        decides all random choices; default 0
//	start TIME         the time at which the story begins; default 2006-01-02T15:04:05Z
//	stages FILE...     the files that hold the Stages; default stages.yaml
//	lenient            compiles the Stages leniently
//	extensions         compiles them with the extensions of package stage
//	kind GROUP/VERSION KIND [cluster]
//	                   declares a kind that has no definition: namespaced, or cluster-scoped, with a status subresource
//
// These change the cluster, as its users would. An error of the cluster is printed. Stages are
// matched at once, but nothing is played before time passes; advance 0s is enough.
//
//	apply FILE              creates the objects of a file, each with its status, or makes them what the file says
//	patch KIND NAME YAML    merges YAML in braces, or in a file, into an object
//	status KIND NAME YAML   merges it into the status
//	delete KIND NAME        deletes an object
//
// These let time pass:
//
//	advance DURATION    plays everything that is due within the duration, its end included
//	settle [DURATION]   plays until nothing more will happen, for at most the duration; default 10m
//
// These print:
//
//	show KIND NAME [JQ]    the object as YAML without managedFields, resourceVersion and uid, or the results of a jq expression on it
//	candidates KIND NAME   the Stages that match the object, their chances, weights and possible delays
//
// # Files
//
// Files contain Stages, objects and lists of them as YAML or JSON, any number in one file. The
// CustomResourceDefinitions of all files are in the cluster from the start. The file want is the
// wanted trace.
//
// # Trace
//
// Commands are echoed after a >. Other lines begin with the virtual time since the start, truncated
// to milliseconds:
//
//	Pod default/web scheduled STAGE in 1s (weight 3)   STAGE was chosen; a weight of 0 is not printed
//	Pod default/web cancelled STAGE                    STAGE stopped matching before it was due, or the object was deleted
//	Pod default/web played STAGE                       the effects follow, in their order
//	Pod default/web gone                               the object was deleted
//	failed: …                                          an effect that could not be rendered or sent, or a livelock
//	error: …                                           what the cluster answered to a command
//	settled, not settled, next in 5s                   how settle ended
//
// Patches and applied objects are printed as YAML, JSON patches as one operation on each line. A
// patch that changes nothing is not sent, and is marked. Warnings about the Stages come first. If
// Stages have faults nothing is played, and the faults are the trace.
//
// # Determinism
//
// The same options and calls give the same lab, byte for byte, unless other goroutines write. A
// story has the same trace on every machine: uids, generated names and random choices depend on the
// seed, addresses on the order of events, which is always the same, and times are virtual.
//
// # Concurrency
//
// [Play] may be called from several goroutines at once. A Lab must not be used from several
// goroutines at once; LabOptions.Sync coordinates it with other goroutines that use its cluster.
package stagetest
