package lint

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// builtins are the kinds that are built into Kubernetes, by the apiGroup that a Stage has to name.
var builtins = []struct{ apiVersion, kinds string }{
	{"v1", `ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota
		Secret Service ServiceAccount`},
	{"apps/v1", "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet"},
	{"autoscaling/v2", "HorizontalPodAutoscaler"},
	{"batch/v1", "CronJob Job"},
	{"coordination.k8s.io/v1", "Lease"},
	{"discovery.k8s.io/v1", "EndpointSlice"},
	{"networking.k8s.io/v1", "Ingress IngressClass NetworkPolicy"},
	{"policy/v1", "PodDisruptionBudget"},
	{"storage.k8s.io/v1", "CSIDriver CSINode StorageClass VolumeAttachment"},
}

// unknownKind finds a kind that its group does not have: a kind of another group in the core group,
// or a misspelled kind.
func unknownKind(s *checkedStage) []fault {
	group := s.kind.GroupVersion().String()
	apiVersion, kind := likelyKind(s.kind)
	switch {
	case kind == "" && s.kind.Group == "" && s.kind.Version != "v1":
		return []fault{fieldFault("spec.resourceRef.apiGroup", "write it as group/version, such as apps/v1", "%s is read as a version of the core group, which has only v1", group)}
	case kind == "" || apiVersion == group && kind == s.kind.Kind:
		return nil
	}
	advice := fmt.Sprintf("write kind: %s", kind)
	if apiVersion != "v1" {
		advice = fmt.Sprintf("write apiGroup: %s, kind: %s", apiVersion, kind)
	}
	return []fault{fieldFault("spec.resourceRef", advice, "%s has no kind %s, so the stage matches no object", group, s.kind.Kind)}
}

// likelyKind returns the built-in kind that a Stage probably means. Projects do not add kinds to
// the core group, so an unknown kind of the core group means a known kind of any group. An unknown
// kind of another group, or with only the name of a group, means a kind of that group.
func likelyKind(k schema.GroupVersionKind) (apiVersion, kind string) {
	for _, b := range builtins {
		group, _, _ := strings.Cut(b.apiVersion, "/")
		if k.Group != "" && k.GroupVersion().String() != b.apiVersion || k.Group == "" && k.Version != "v1" && k.Version != group {
			continue
		}
		for name := range strings.FieldsSeq(b.kinds) {
			if strings.EqualFold(name, k.Kind) || strings.EqualFold(name+"s", k.Kind) {
				return b.apiVersion, name
			}
		}
	}
	return "", ""
}
