// Package certificates does what kube-apiserver and kube-controller-manager do with
// CertificateSigningRequests: the server says who asks, and keeps the parts of a request apart;
// csrapproving approves the requests of kubelets, and csrsigning signs what is approved.
//
// # Determinism
//
// Requests of the same uid and content get the same serial number. A certificate is the same bytes
// each time if the key of the [Authority] signs without random numbers, as Ed25519 does.
//
// # Concurrency
//
// All functions are safe for concurrent use.
//
// # Compatibility
//
// The rules are those of pkg/registry/certificates, pkg/apis/certificates and
// pkg/controller/certificates of Kubernetes 1.36. A certificate can outlive its authority, because the
// two can live by different clocks. The signer kubernetes.io/legacy-unknown has no requests: the
// version v1 of the API refuses them.
package certificates
