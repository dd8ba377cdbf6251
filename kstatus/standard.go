package kstatus

// standard is the standard profile.
var standard = &Rules{before: standardBefore, upstream: true, after: standardAfter}

var (
	always   = Current.Because("", "Resource is always ready")
	computed = Current.Because("", "AllowedDisruptions has been computed.")
)

// upstream is [Object.upstream] as a Rule.
func upstream(o Object) (r Result, known bool) {
	known = o.upstream(&r)
	return r, known
}

// upstream stores the verdict on the kinds that upstream has rules for, which always have an opinion. It reports false for all others.
//
// It is a switch, unlike the tables of all other rules, because what goes through a function value is copied: an Object on the way in, a Result
// on the way out. That took as long as two look-ups in an object. For the same reason Pods and Deployments, of which there are most, come
// first and store their verdicts themselves.
func (o *Object) upstream(verdict *Result) (known bool) {
	switch {
	case o.kind == "Deployment" && (o.group == "apps" || o.group == "extensions"):
		deployment(o, verdict)
		return true
	case o.kind == "Pod" && o.group == "":
		pod(o, verdict)
		return true
	}
	return o.upstreamOther(verdict)
}

func (o *Object) upstreamOther(verdict *Result) (known bool) {
	switch o.group {
	case "":
		return o.upstreamCore(verdict)
	case "apps", "extensions":
		return o.upstreamApps(verdict)
	case "batch":
		return o.upstreamBatch(verdict)
	case "policy":
		if o.kind == "PodDisruptionBudget" {
			*verdict, known = computed, true
		}
	case "apiextensions.k8s.io":
		if o.kind == "CustomResourceDefinition" {
			*verdict, known = definition(o)
		}
	}
	return known
}

func (o *Object) upstreamCore(verdict *Result) (known bool) {
	switch o.kind {
	case "ConfigMap", "Secret":
		*verdict, known = always, true
	case "Service":
		*verdict, known = service(o)
	case "PersistentVolumeClaim":
		*verdict, known = claim(o)
	}
	return known
}

func (o *Object) upstreamApps(verdict *Result) (known bool) {
	switch o.kind {
	case "ReplicaSet":
		*verdict, known = replicaSet(o)
	case "DaemonSet":
		*verdict, known = daemonSet(o)
	case "StatefulSet":
		if o.group == "apps" {
			*verdict, known = statefulSet(o)
		}
	}
	return known
}

func (o *Object) upstreamBatch(verdict *Result) (known bool) {
	switch o.kind {
	case "Job":
		*verdict, known = job(o)
	case "CronJob":
		*verdict, known = always, true
	}
	return known
}
