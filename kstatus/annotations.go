package kstatus

import "github.com/stagecraft-go/stagecraft/internal/object"

// noWait is our annotation that says, with the value "disabled", that no one shall wait for an
// object. See [Rules.HonorNoWait].
const noWait = "stagecraft-go.github.io/wait"

// noWaitAnnotations are the annotations by which other tools and ours are told not to wait for an
// object, with the value that says so.
var noWaitAnnotations = [...]struct{ key, value string }{
	{noWait, "disabled"},
	{"action.timoni.sh/wait", "disabled"},
	{"argocd.argoproj.io/ignore-healthcheck", "true"},
	{"kapp.k14s.io/disable-wait", ""},
	{"pulumi.com/skipAwait", "true"},
	{"resources.gardener.cloud/skip-health-check", "true"},
}

// HonorNoWait returns rules to which an object is Current, with the reason NotWaitedFor, if an
// annotation says that no one shall wait for it. An object that is being deleted is Terminating all
// the same. Neither Standard nor Extended does this on its own.
//
// These annotations are read, and no others:
//
//	stagecraft-go.github.io/wait: disabled               ours
//	action.timoni.sh/wait: disabled                      Timoni does not wait for it
//	argocd.argoproj.io/ignore-healthcheck: "true"        Argo CD leaves it out of the health of an Application
//	kapp.k14s.io/disable-wait: ""                        kapp does not wait for it
//	pulumi.com/skipAwait: "true"                         Pulumi does not wait for it
//	resources.gardener.cloud/skip-health-check: "true"   Gardener leaves it out of the health of a ManagedResource
//
// Flux and Helm have none: kustomize.toolkit.fluxcd.io/reconcile: disabled means that Flux neither
// applies nor prunes an object, and helm.sh/readiness-success and helm.sh/readiness-failure say what
// Helm 4 waits for. helm.sh/ignoreWait was proposed (helm issue 12800) and not accepted.
func (r *Rules) HonorNoWait(honor bool) *Rules {
	out := *r
	out.noWait = honor
	return &out
}

var noWaitSteps = []step{{"annotation", notWaitedFor, BasisKind}}

// notWaitedFor is the rule of HonorNoWait.
func notWaitedFor(o Object) (Result, bool) {
	annotations, _ := object.ToMap(o.metadata["annotations"])
	if len(annotations) == 0 || o.metadata["deletionTimestamp"] != nil {
		return Result{}, false
	}
	for _, a := range noWaitAnnotations {
		if v, ok := annotations[a.key].(string); ok && v == a.value {
			return Current.because("NotWaitedFor", withWords("Annotation %s says not to wait", a.key)).atItem("metadata.annotations", a.key), true
		}
	}
	return Result{}, false
}
