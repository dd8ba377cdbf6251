// Package envtest makes programs that stand in for etcd and kube-apiserver, so that the tests of any
// operator run against a Kubernetes in memory without a change: envtest of controller-runtime starts
// the programs that it finds in the directory KUBEBUILDER_ASSETS.
//
// # Usage
//
//	go run github.com/stagecraft-go/stagecraft/stage/lab/envtest/assets@latest ./assets
//	KUBEBUILDER_ASSETS=$PWD/assets go test ./...
//
// README.md says what changes for the tests, and what to expect. A program of your own makes the
// directory with [Install], which copies the program itself, and calls [Run] where [IsProgram] reports
// that it was started as one of the two:
//
//	if envtest.IsProgram(os.Args[0]) {
//		os.Exit(envtest.Run(ctx, os.Args, os.Stdout, os.Stderr))
//	}
//
// # Flags
//
// The stand-in for kube-apiserver understands the flags with which envtest starts kube-apiserver:
// address, port and certificates, --client-ca-file, the keys of ServiceAccounts, and the admission
// plugins to enable and disable. The first write tells in a Warning header which of the other flags
// have no effect, so that client-go prints them; a mode of --authorization-mode that is not modelled
// is an error. The stand-in for etcd answers /health and stores nothing: what a kube-apiserver has
// stored ends with its process.
//
// # A lab behind the server
//
// With STAGECRAFT_LAB=3 in the environment the server has controllers, a scheduler and three Nodes
// with kubelets behind it, see package labtest. Its time is that of the machine. Without the variable
// nothing reacts to objects, as in envtest.
//
// # Concurrency
//
// The functions are safe for concurrent use. Each process is one server with its own cluster.
//
// # Compatibility
//
// The server is that of package apiserver. envtest of controller-runtime 0.23 and newer was tried.
package envtest
