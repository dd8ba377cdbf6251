// Package rules validates what policies and webhooks have in common: which writes they are about, and
// the expressions of their conditions. It is written after the validation of k8s.io/kubernetes, which
// a published module cannot require.
package rules
