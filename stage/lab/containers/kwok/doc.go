// Package kwok reads what kwok's files say of containers: the kinds Logs, Exec, Attach, PortForward
// and ResourceUsage of kwok.x-k8s.io/v1alpha1, their cluster-wide forms, and the kind Metric.
//
// # Usage
//
//	rules, err := kwok.Parse("logs.yaml", text)
//	options := rules.Options(kwok.Host{Files: os.DirFS(".")})
//	lab := labtest.New(t, labtest.Options{Containers: options})
//
// # What the kinds mean
//
//	kind           | meaning
//	---------------+--------------------------------------------------------------------------------
//	Logs           | logsFile is the log of the present run, previousLogsFile that of the run before.
//	               | Lines in the form of a container runtime, "TIME stdout F text", have their times;
//	               | others are printed when the container starts. Follow is what the client asks for
//	Exec           | the command of the client runs on this machine, with envs and workDir
//	Attach         | the client gets the lines that are added to logsFile from then on
//	PortForward    | the client is connected with target, or with the input and output of command
//	ResourceUsage  | value or expression, in CEL, of cpu and memory
//	Metric         | metrics at a path of the kubelet, in the format of Prometheus: for each Node if
//	               | the path has {nodeName}, otherwise for the Node with the name of the Metric.
//	               | /metrics/resource is not available: it has the kubelet's own metrics
//
// A kind with the name and namespace of a Pod comes before cluster-wide kinds, whose selector has
// matchNames and matchNamespaces; the first that matches counts. An item without containers, or
// ports, is for each one that no other item names. Files may have Stages, which package stage reads.
//
// # Expressions
//
// Expressions are in CEL. They have the variables pod and container, metrics of the dimension node
// only node. Fields have their names in JSON; a field that is not set has its zero value.
//
//	Now(), x.UnixSecond()                   | the time of the cluster; the seconds since 1970
//	node.SinceSecond(), pod.SinceSecond()   | the age in seconds
//	Quantity("250m"), r.limits["cpu"]       | amounts, with +, -, *, / and comparisons
//	Rand()                                  | a number from 0 up to 1, the same for the same object and time
//	node.Usage("cpu"), pod.Usage("memory"), | metrics only: cores or bytes of a Node, a Pod or a container
//	pod.Usage("cpu", container.name)        |
//	…CumulativeUsage("cpu"…)                | metrics only: core-seconds, as a containers.Meter adds them up
//	StartedContainersTotal(node)            | metrics only: how many containers the Node has started
//
// A client reads a Metric through the proxy of a server:
//
//	kubectl get --raw /api/v1/nodes/node-1/proxy/metrics/nodes/node-1/metrics/resource
//
// # Security
//
// Nothing of this machine is reachable unless [Host] says so. A kwok with such files gives every
// client of the cluster a shell with its own permissions, and its network. Here a program names
// each door: a file system for logs, a function that runs commands, and one that connects.
//
// # Concurrency
//
// [Rules] are immutable and safe for concurrent use.
//
// # Compatibility
//
//	kwok does                                   | this does                                  | test
//	--------------------------------------------+--------------------------------------------+------------------
//	ignore unknown fields of files              | report them with their positions           | TestFaults
//	run commands and read files                 | refuse to, unless Host allows it           | TestHost
//	serve a Metric with 0 for what fails, and   | leave the sample out and count it, in      | TestMetricsAreServed
//	log the failure                             | stagecraft_metric_faults                   |
//	take a boolean or a duration as an amount   | refuse it                                  | TestUsageFaults
//	serve a counter below 0                     | leave the sample out and count it          | TestMetricsThatCannotBeServed
//	find out when a client asks that a rule     | report what is wrong for every Pod with    | TestUsageFaults
//	cannot work                                 | its position                               |
//	count CPU time from the first read on       | count from the start of the container      | TestMetersCount
//	have usages of containers that do not run   | these use nothing                          | TestMetricExpressions
//	draw Rand() at random                       | draw it from the object and the time       | TestRandIsDeterministic
//	run commands as runAsUser                   | refuse securityContext                     | TestFaults
//	use a file for everything with "follow"     | follow as the client asks for              | TestFiles
package kwok
