package kstatus

import "strings"

// standard is the profile of upstream.
var standard = &Rules{before: standardBefore, standard: true, after: standardAfter, combine: failReplicas}

// standardBefore are the general rules that come before those for the kind.
var standardBefore = []step{
	{"deletion", deletion, BasisConvention},
	{"generation", generation, BasisConvention},
	{"readable", readable, BasisConvention},
	{"standard conditions", decisiveCondition, BasisConvention},
}

// standardAfter are the ones that come after them.
var standardAfter = []step{{"Ready condition", readyCondition, BasisConvention}}

// current is the verdict if no rule has an opinion.
var current = Current.Because("", "Resource is current")

// nothingSaid is the verdict of the standard profile if no rule has an opinion.
var nothingSaid = current.on(BasisGuess)

func deletion(o Object) (Result, bool) {
	if v := o.Value("metadata", "deletionTimestamp"); v == nil || v == "" {
		return Result{}, false
	}
	return Terminating.Because("", "Resource scheduled for deletion").At("metadata.deletionTimestamp"), true
}

func generation(o Object) (Result, bool) {
	generation, observed, ok := o.Generations()
	if !ok || generation == observed {
		return Result{}, false
	}
	m := withNumbers("%s generation is %d, but latest observed generation is %d", generation, observed)
	m.words[0] = o.kind
	return inProgress("LatestGenerationNotObserved", m, "status.observedGeneration"), true
}

// readable is the answer where upstream returns an error: a part on which every verdict rests has
// the wrong type.
func readable(o Object) (Result, bool) {
	if o.unreadable == "" {
		return Result{}, false
	}
	m := withWords("Failed to compute %s status: %s has the wrong type", strings.ToLower(o.kind), o.unreadable)
	return Unknown.because("Unreadable", m).At(o.unreadable), true
}

// decisiveCondition reads the first Reconciling=True or Stalled=True.
func decisiveCondition(o Object) (Result, bool) {
	if o.decisive == 0 {
		return Result{}, false
	}
	c, _ := readCondition(o.conditions[o.decisive-1])
	o.recordCondition(c.Type, c.Status)
	if c.Type == Stalled {
		return Failed.From(c), true
	}
	return InProgress.From(c), true
}

func readyCondition(o Object) (Result, bool) {
	for _, item := range o.conditions {
		c, ok := viewOf(item)
		if !ok || c.kind != "Ready" {
			continue
		}
		o.recordCondition(c.kind, c.status)
		switch c.status {
		case "True":
			return Current.Because("", "Resource is Ready").onCondition("Ready"), true
		case "False", "Unknown":
			return InProgress.From(c.condition()), true
		}
	}
	return Result{}, false
}

// inProgress is the form that most verdicts of the rules have: what is missing, and the field that
// says so.
func inProgress(reason string, m message, field string) Result {
	return InProgress.because(reason, m).At(field)
}

// standardRule stores the verdict of upstream's rule for the kind. It returns false if upstream has
// none.
//
// It is a switch with direct calls, not a map of functions: a look-up in a map would take as long
// as the whole verdict on a ConfigMap.
func standardRule(o *Object, verdict *Result) bool {
	switch o.group {
	case "":
		return standardCore(o, verdict)
	case "apps", "extensions":
		return standardApps(o, verdict)
	case "batch":
		return standardBatch(o, verdict)
	case "policy":
		if o.kind == "PodDisruptionBudget" {
			*verdict = Current.Because("", "AllowedDisruptions has been computed.")
			return true
		}
	case "apiextensions.k8s.io":
		if o.kind == "CustomResourceDefinition" {
			*verdict = customResourceDefinition(o)
			return true
		}
	}
	return false
}

func standardCore(o *Object, verdict *Result) bool {
	switch o.kind {
	case "Pod":
		*verdict = pod(o)
	case "ConfigMap", "Secret":
		*verdict = alwaysReady
	case "Service":
		*verdict = service(o)
	case "PersistentVolumeClaim":
		*verdict = persistentVolumeClaim(o)
	default:
		return false
	}
	return true
}

func standardApps(o *Object, verdict *Result) bool {
	switch o.kind {
	case "Deployment":
		*verdict = deployment(o)
	case "ReplicaSet":
		*verdict = replicaSet(o)
	case "DaemonSet":
		*verdict = daemonSet(o)
	case "StatefulSet":
		if o.group != "apps" {
			return false
		}
		*verdict = statefulSet(o)
	default:
		return false
	}
	return true
}

func standardBatch(o *Object, verdict *Result) bool {
	switch o.kind {
	case "Job":
		*verdict = job(o)
	case "CronJob":
		*verdict = alwaysReady
	default:
		return false
	}
	return true
}
