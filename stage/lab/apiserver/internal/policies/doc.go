// Package policies carries out ValidatingAdmissionPolicies and MutatingAdmissionPolicies as
// kube-apiserver does: a policy and its bindings are validated, and the writes that a bound policy is
// about are refused, answered with a warning, or changed, as its expressions say.
//
// The work is done by k8s.io/apiserver: expressions are compiled by pkg/admission/plugin/cel, writes
// are matched and decided about by pkg/admission/plugin/policy. Its Plugin is not used, because it
// learns of policies and parameters later, by informers, and needs a client and goroutines: here a
// write finds the policies, the namespace and the parameters of the moment in the cluster. Validation
// of policies is part of k8s.io/kubernetes, which a published module cannot require: validate.go is
// written after it.
//
// A policy is compiled when it is created or changed. Those that change objects are asked before
// mutating webhooks, and with them again if reinvocation asks for it. The others are asked last, about objects that are
// valid, before validating webhooks. The cluster is not locked meanwhile. If the object changes before
// the write is carried out, they are asked again.
//
// Differences: policies are asked in the order of their names. A policy that is about another version
// of a built-in kind sees the fields of the version that is written. What auditAnnotations and the
// action Audit say is evaluated and kept by nobody: there is no audit log.
package policies
