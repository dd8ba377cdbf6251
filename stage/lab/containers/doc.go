// Package containers says what the containers of simulated Pods print, answer and use. No process
// runs in a Pod of a lab. A program gives functions instead, or annotations of the Pods, and
// clients get logs, exec, attach, port-forward and usage as from a cluster.
//
// # Terminology
//
// A [Container] is one run of a container of a Pod: from a start to its end. [Options] are the
// functions of a program. A [Runtime] answers requests about the containers of a cluster, with
// these functions and the rules of a kubelet.
//
// # Usage
//
// In a lab the functions are labtest.Options.Containers, and requests are plain calls:
//
//	lab := labtest.New(t, labtest.Options{Containers: containers.Options{
//		Exec: func(ctx context.Context, c containers.Container, command containers.Command) (int, error) {
//			fmt.Fprintln(command.Stdout, "pong")
//			return 0, nil
//		},
//	}})
//	result, err := lab.Exec("db-0", "", "redis-cli", "ping") // result.Stdout is "pong\n"
//
// Package stage/lab/apiserver finds the functions of the lab whose cluster it serves, so that
// kubectl logs, exec, cp, attach, port-forward and top do the same. A cluster without a lab gets
// them as hooks:
//
//	cluster.Extend(containers.Hooks(containers.Options{…}))
//
// # What is simulated
//
//	said by                                        | what it is
//	-----------------------------------------------+---------------------------------------------------
//	Options.Logs                                   | lines with their times; those of the future are
//	                                               | read when their time comes
//	annotation [LogsPrefix] + name of a container  | the lines that the container prints when it starts
//	Options.Exec, Options.PortForward              | what a command, or a port, does
//	Options.Attach                                 | what an attached client reads and writes; without
//	                                               | it, the lines of the log from now on
//	Options.Usage                                  | the CPU and memory that a container uses; a [Meter]
//	                                               | adds up CPU time
//	Options.Kubelet                                | other paths of the kubelet of a Node
//	annotations [UsagePrefix] + cpu, + memory,     | the same, also for HorizontalPodAutoscalers; see
//	with the name of a container before it         | package autoscaling
//
// In a lab, a container whose command is known to its kubelet prints what the command prints, see
// package kubelet. The kinds Logs, Exec, Attach, PortForward, ResourceUsage and Metric of kwok become
// Options in package stage/lab/containers/kwok.
//
// Without any of these a request fails with [ErrNotSimulated]. It never succeeds with nothing. A log
// whose function panics, or does not come to an end, is an error, also for a client that has read its
// beginning.
//
// Commands and connections end with the run of their container, or with the Pod: a command has the
// exit code 137 then, as one that a kubelet kills.
//
// # Time
//
// Times of lines, "since" and "timestamps" are those of the cluster. A reader that follows a log
// waits in real time, or in that of a testing/synctest bubble, and looks at the clock of the cluster
// ten times a second.
//
// # Determinism
//
// The Runtime draws no random numbers. The same functions give the same answers for the same Pod
// and time. The CPU time of a [Meter] depends on when it was read before.
//
// # Concurrency
//
// A Runtime is safe for concurrent use. It calls the functions of Options in the goroutine of the
// request, so that functions must be safe for concurrent use if requests are concurrent, as those
// of a server are.
//
// # Compatibility
//
// Errors, filters and their order are those of kube-apiserver and of the kubelet of Kubernetes
// 1.36. What differs:
//
//	a kubelet does                           | this does                                  | test
//	-----------------------------------------+--------------------------------------------+------------------------
//	rotate a log at 10 MiB and show what was | show the last 10 MiB of a log              | TestLogsHaveALimit
//	written since                            |                                            |
//	split lines at 16 KiB                    | the same, but partial lines are whole ones | TestLogsHaveALimit
//	measure CPU time without a gap           | add what is used at each read, since the   | TestMetersCount
//	                                         | read before; a container that starts and   |
//	                                         | ends between two reads does not count      |
//	let an exec begin in a container that    | refuse it with the name of the container   | TestExecNeedsARunningContainer
//	has ended, and fail in its runtime       |                                            |
package containers
