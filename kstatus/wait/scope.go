package wait

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// namespacedKinds are the built-in kinds that have namespaces, so that a reference without one names
// nothing. The scope of other kinds is known once an object of the kind is seen.
var namespacedKinds = func() map[schema.GroupKind]bool {
	out := map[schema.GroupKind]bool{}
	for group, kinds := range map[string]string{
		"": "Binding ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate ReplicationController " +
			"ResourceQuota Secret Service ServiceAccount",
		"apps":                      "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
		"autoscaling":               "HorizontalPodAutoscaler",
		"batch":                     "CronJob Job",
		"coordination.k8s.io":       "Lease",
		"discovery.k8s.io":          "EndpointSlice",
		"networking.k8s.io":         "Ingress NetworkPolicy",
		"policy":                    "PodDisruptionBudget",
		"rbac.authorization.k8s.io": "Role RoleBinding",
		"resource.k8s.io":           "ResourceClaim ResourceClaimTemplate",
		"storage.k8s.io":            "CSIStorageCapacity",
	} {
		for kind := range strings.FieldsSeq(kinds) {
			out[schema.GroupKind{Group: group, Kind: kind}] = true
		}
	}
	return out
}()
