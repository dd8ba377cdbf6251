// Package hunted hunts the controllers of kube-controller-manager, unchanged, over the API server in memory: each is a
// program for package stage/lab/apiserver/hunting, whose users do the same to all of them. See make hunt-kubernetes.
package hunted
