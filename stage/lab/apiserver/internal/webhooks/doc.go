// Package webhooks calls the webhooks of MutatingWebhookConfigurations and
// ValidatingWebhookConfigurations about the writes of a cluster, as kube-apiserver does.
//
// The work is done by the admission plugins of k8s.io/apiserver, so rules, selectors, conditions,
// order, reinvocation, failure policies, timeouts and texts are theirs. They read configurations and
// namespaces from informers, which here have what a write has found in the cluster and are never
// started.
//
// options.fieldManager of a request is the name of the client's program where the client names none.
// Evictions, bindings and scales are seen as the writes of Pods and workloads that they are.
//
// Mutating webhooks are called before an object is validated, and its defaults are filled in again
// afterwards (between two of them, those of custom objects only); validating ones are called last. The cluster is not locked
// meanwhile. If the object changes before the write is carried out, they are called again.
package webhooks
