// Package kwok reads what kwok's files say of containers: the kinds Logs, Exec, Attach, PortForward
// and ResourceUsage of kwok.x-k8s.io/v1alpha1, and their cluster-wide forms.
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
//
// A kind with the name and namespace of a Pod comes before cluster-wide kinds, whose selector has
// matchNames and matchNamespaces; the first that matches counts. An item without containers, or
// ports, is for each one that no other item names. Files may have Stages, which package stage reads.
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
//	serve Metric at a path of its kubelet       | refuse the kind                            | TestFaults
//	run commands as runAsUser                   | refuse securityContext                     | TestFaults
//	use a file for everything with "follow"     | follow as the client asks for              | TestFiles
package kwok
