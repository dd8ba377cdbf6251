package kstatus

import "k8s.io/apimachinery/pkg/runtime/schema"

// standard is the standard profile.
var standard = &Rules{before: standardBefore, kinds: kinds(standardKinds), after: standardAfter}

var standardKinds = map[schema.GroupKind]Rule{
	{Kind: "ConfigMap"}:                       always("Resource is always ready"),
	{Kind: "Secret"}:                          always("Resource is always ready"),
	{Kind: "Service"}:                         service,
	{Kind: "PersistentVolumeClaim"}:           claim,
	{Kind: "Pod"}:                             pod,
	{Group: "apps", Kind: "Deployment"}:       deployment,
	{Group: "apps", Kind: "ReplicaSet"}:       replicaSet,
	{Group: "apps", Kind: "StatefulSet"}:      statefulSet,
	{Group: "apps", Kind: "DaemonSet"}:        daemonSet,
	{Group: "extensions", Kind: "Deployment"}: deployment,
	{Group: "extensions", Kind: "ReplicaSet"}: replicaSet,
	{Group: "extensions", Kind: "DaemonSet"}:  daemonSet,
	{Group: "batch", Kind: "Job"}:             job,
	{Group: "batch", Kind: "CronJob"}:         always("Resource is always ready"),

	{Group: "policy", Kind: "PodDisruptionBudget"}:                    always("AllowedDisruptions has been computed."),
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: definition,
}

// kinds makes the table of a profile.
func kinds(rules map[schema.GroupKind]Rule) *table {
	t := &table{}
	for kind, rule := range rules {
		t.add(kind, step{name: kind.String(), rule: rule})
	}
	return t
}

// always is the rule for kinds that are Current as soon as they exist.
func always(message string) Rule {
	r := Current.Because("", message)
	return func(Object) (Result, bool) { return r, true }
}
