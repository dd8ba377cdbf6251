// Package metrics compares the metrics that the server has for the kubelet of a Node with the source of
// the kubelet.
package metrics
