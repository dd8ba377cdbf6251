// Package stagetest tests Stage files with stories. A story is played on a cluster in memory in
// virtual time, so that an hour takes no real time.
//
// # Terminology
//
// A story is a txtar archive with Stages, objects, commands and the wanted trace.
//
// # Usage
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
// which adds the file want. Review it like code: it must contain only intended events. Later runs
// of go test compare the trace, and report the file and line of the first difference.
// [Options.Stages] adds Stages that are not in the archive:
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
// A story has the same trace on every machine: uids, generated names and random choices depend on
// the seed, addresses on the order of events, which is always the same, and times are virtual.
//
// # Concurrency
//
// [Play] may be called from several goroutines at once.
package stagetest
