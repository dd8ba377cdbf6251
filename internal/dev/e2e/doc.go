// Package e2e tests stagecraft on a real kube-apiserver, with the real kube-controller-manager and
// kube-scheduler where a test needs them. Stages are played in place of a kubelet.
//
// # Usage
//
//	go test ./...                     skips the tests if the programs do not exist
//	STAGECRAFT_E2E=1 go test ./...    builds them first, and kwok (six minutes on two cores, once)
//	KUBEBUILDER_ASSETS=DIR go test ./...
//	go test -run 'TestRecordings|TestWire' -record ./...
//
// The last command rewrites the recordings with which the tests of stage/lab/controllers and of the
// reader of stage/kube compare.
//
// # Compatibility
//
// The server is v1.36.3, the newest on the Go module proxy; the client is v0.37.2.
package e2e
