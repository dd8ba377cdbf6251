// Package streaming compares exec and attach of the server with those of a kubelet's container runtime,
// k8s.io/cri-streaming, by client-go's executors.
package streaming
