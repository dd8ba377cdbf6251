// Package kubelet does in virtual time what Pods say. It is a kubelet for Pods whose containers
// end, fail, or have probes. Stages such as presets.PodFast cannot play such Pods.
//
// # Terminology
//
// A [Step] is what a kubelet does with a Pod at a time: the status, the Events, and the time of the
// next step. [Next] computes it from the Pod alone; it remembers nothing. A [Notice] is an Event
// without a change of the status. [Pods] is the controller that writes both.
//
// # Usage
//
//	loop := reconcile.NewLoop(cluster, reconcile.Options{}, append(controllers.All(controllers.Options{}), kubelet.Pods(kubelet.Options{}, nil))...)
//
// A labtest.Lab uses it by default. In a simulation, add [Pods] to the controllers. On a cluster
// whose nodes have no kubelets, such as a cluster of kwok, it runs their Pods in real time:
//
//	cluster, err := kube.NewForConfig(config)
//	err = reconcile.Play(ctx, cluster, reconcile.PlayOptions{Options: reconcile.Options{Events: true}}, kubelet.Pods(kubelet.Options{}, nil))
//
// With it, kube-controller-manager and kube-scheduler pass conformance tests of Kubernetes: see
// internal/dev/e2e/conformance.
//
// # What a Pod can say
//
//	said by                            | what happens
//	-----------------------------------+--------------------------------------------------------------------
//	command and args                   | sleep N, exit N, true, false, echo WORDS, and sh -c of these,
//	                                   | separated by ; && or lines, run that long and end with that
//	                                   | code; an init container with any other command succeeds at
//	                                   | once. [Output] is what they print
//	any other command, restartPolicy   | the container ends with code 0 after a second, unless the command
//	Never or OnFailure                 | runs forever by its nature: pause, sleep infinity, tail -f, an
//	                                   | endless loop, a script with one of these
//	no command, in a Pod of a Job      | the same, unless the image is pause
//	any other container                | runs until it is stopped; so does each one whose command is not
//	                                   | known if Options.RunUnknown is set
//	annotation [CommandSuffix] + name  | the same, instead of the command
//	Options.Program                    | what your commands do, instead of the command
//	image                              | one of the list in Options, or with the tag 404, cannot be pulled:
//	                                   | ErrImagePull for a second, ImagePullBackOff, next try after 10 s,
//	                                   | 20 s, … 5 min
//	restartPolicy                      | a container that ends starts again at once the first time, then
//	                                   | after 10, 20, 40, 80, 160, 300 s; a run of 10 min resets the delay
//	initContainers                     | one after another; sidecars (restartPolicy Always) when started
//	startupProbe, livenessProbe,       | run after initialDelaySeconds, then each periodSeconds; the
//	readinessProbe                     | thresholds count; answers: the annotation of [AnswerSuffix]
//	terminationGracePeriodSeconds      | a container that sleeps ends after it, at least 2 s, with code 137,
//	                                   | any other at once with code 143; sidecars after all others, in
//	                                   | reverse order, within the same period
//	activeDeadlineSeconds              | containers are stopped; then phase Failed, reason DeadlineExceeded
//	readinessGates                     | the Pod is not ready before the conditions are True
//	hostPort                           | a Pod that was bound although another one of its node has the
//	                                   | port is refused after a second: phase Failed, reason NodePorts
//
// # Determinism
//
// Next depends only on the Pod, the time and the Options. Times are whole seconds, as in a status.
//
// # Concurrency
//
// Next may be called from several goroutines at once.
//
// # Compatibility
//
// States, reasons, messages and delays are those of the kubelet of Kubernetes 1.36: make
// oracle-kubelet compares random Pods with its runtime manager. What differs:
//
//	a kubelet does                                | this does                                | test
//	----------------------------------------------+------------------------------------------+-------------------------
//	probe at ticks since it saw the Pod           | probe at ticks since initialDelaySeconds | TestCases
//	say ErrImagePull until its next sync          | say it for a second                      | TestCases
//	say CrashLoopBackOff from its sync after the  | say it from a second before the end of   | TestCases
//	end of a delay, or after a minute, up to half | a delay, or after a minute, and start    |
//	of these later, and then start the container  | the container when the delay is over     |
//	remember the delays of restarts               | find them in how long the container has  | TestKubelets of
//	                                              | waited, also for a sidecar that is down  | stage/lab/internal/oracle
//	record Unhealthy for each failed probe        | the same, but of a readiness probe only  | TestRecordedEvents
//	                                              | until the container is not ready         |
//	wait for an init container of any command     | one whose command is not known succeeds  | TestCases
//	                                              | at once                                  |
//	run each program until it ends                | end an unknown one after a second, where | TestUnknownCommands
//	                                              | its Pod is meant to end                  |
//	have 50 requests a second, burst 100          | have no limit, even with                 | -
//	                                              | simulation.Timing                        |
//
// Addresses of Pods are derived from their uid. MISSING.md of module stage/lab lists what kubelets
// lack.
package kubelet
