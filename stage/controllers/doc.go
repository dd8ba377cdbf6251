// Package controllers has the workload controllers of kube-controller-manager, a scheduler and a few more in small, as controllers of
// package stage/reconcile.
package controllers
