package controllers_test

// A side is whose objects have a field.
type side int

const (
	real side = 1 << iota
	ours
	both = real | ours
)

// A difference is a field that the objects of the real controllers or of these have, and the others
// do not, or otherwise.
type difference struct {
	of        side
	kind      string
	path      string // as a JSON pointer, but * is each element of a list
	value     string // the only value, as JSON, that it is about; "": all
	recording string // the only recording that it is about; "": all
	why       string
}

func (d difference) concerns(recording string, obj map[string]any) bool {
	return d.kind == obj["kind"] && (d.recording == "" || d.recording == recording)
}

const (
	typed     = "an API server keeps Go values, in which some fields have no omitempty and others no zero value"
	defaulted = "an API server sets it as it creates the object, stage/memory has no defaults"
	binding   = "kube-scheduler binds by a subresource, which does not count"
)

// differences are all differences between the recordings and stage/memory with these controllers.
// Each row must occur.
var differences = []difference{
	{of: real, kind: "Pod", path: "status/conditions/*/lastProbeTime", value: "null", why: typed},
	{of: ours, kind: "Pod", path: "status/conditions/*/reason", value: `""`, why: typed},
	{of: real, kind: "Pod", path: "status/qosClass", value: `"BestEffort"`, why: defaulted},
	{of: real, kind: "Pod", path: "status/qosClass", value: `"Burstable"`, why: defaulted},
	{of: real, kind: "Pod", path: "status/qosClass", value: `"Guaranteed"`, why: defaulted},
	{of: both, kind: "Pod", path: "metadata/generation", why: binding},
	{of: real, kind: "Pod", path: "status/containerStatuses/*/lastState", value: "{}", why: typed},
	{of: real, kind: "Pod", path: "metadata/labels/pod-template-generation", why: "it is that of the annotation of the DaemonSet"},
	{of: real, kind: "Job", path: "metadata/labels/controller-uid", why: defaulted},
	{of: real, kind: "Job", path: "metadata/labels/job-name", why: defaulted},
	{of: real, kind: "Job", path: "metadata/labels/batch.kubernetes.io~1controller-uid", why: defaulted},
	{of: real, kind: "Job", path: "metadata/labels/batch.kubernetes.io~1job-name", why: defaulted},
	{of: both, kind: "Job", path: "spec/backoffLimit", value: "6", why: defaulted},
	{of: both, kind: "Job", path: "spec/completionMode", value: `"NonIndexed"`, why: defaulted},
	{of: both, kind: "Job", path: "spec/podReplacementPolicy", value: `"TerminatingOrFailed"`, why: defaulted},
	{of: both, kind: "Job", path: "spec/backoffLimit", value: "2147483647", why: "the default with backoffLimitPerIndex"},
	{of: both, kind: "Job", path: "spec/completions", value: "1", why: defaulted},
	{of: both, kind: "Job", path: "spec/parallelism", value: "1", why: defaulted},
	{of: real, kind: "Job", path: "spec/selector", why: defaulted},
	{of: both, kind: "Job", path: "spec/suspend", value: "false", why: defaulted},
	{of: real, kind: "DaemonSet", path: "metadata/annotations/deprecated.daemonset.template.generation", why: defaulted},
	{of: real, kind: "ControllerRevision", path: "metadata/annotations/deprecated.daemonset.template.generation", why: defaulted},
	{of: both, kind: "Service", path: "spec/type", value: `"ClusterIP"`, why: defaulted},
	{of: both, kind: "Service", path: "status/loadBalancer", recording: "service-loadbalancer", why: "no cloud provider runs beside the real controllers"},
	{of: both, kind: "Service", path: "status/loadBalancer", recording: "nodeports", why: "as above"},
	{of: both, kind: "Deployment", path: "status/conditions", recording: "deployment-quota", why: "in another order, see TestTheRecordingWithAQuota"},
	{of: real, kind: "Namespace", path: "metadata/labels", why: defaulted},
	{of: real, kind: "Namespace", path: "spec", why: defaulted},
	{of: real, kind: "EndpointSlice", path: "endpoints", value: "null", why: typed},
	{of: real, kind: "EndpointSlice", path: "ports", value: "null", why: typed},
	{of: both, kind: "ReplicaSet", path: "metadata/generation", recording: "deployment-surge", why: "Pods that get ready at the same time are seen at once"},
	{of: both, kind: "ReplicaSet", path: "status/observedGeneration", recording: "deployment-surge", why: "as above"},
}
