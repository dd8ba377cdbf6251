// Package e2e tests stagecraft on a real kube-apiserver, with the real kube-controller-manager and kube-scheduler where a test needs them.
// There is no kubelet: Stages play it.
//
// # Usage
//
//	go test ./...                     skips if there are no programs yet
//	STAGECRAFT_E2E=1 go test ./...    builds them first, and kwok (six minutes on two cores, once)
//	KUBEBUILDER_ASSETS=DIR go test ./...
//	go test -run 'TestRecordings|TestWire' -record ./...
//
// The last one writes anew what package stage/controllers is compared with, and what the reader of stage/kube is tested with.
//
// # Compatibility
//
// The server is v1.36.3, the newest that the Go module proxy gives; the client is v0.37.2.
package e2e
