package lint

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/position"
)

// metadataFields are all fields that metadata can have.
var metadataFields = strings.Fields(`name generateName namespace selfLink uid resourceVersion generation creationTimestamp deletionTimestamp
	deletionGracePeriodSeconds labels annotations ownerReferences finalizers managedFields`)

// knownFields are the fields of built-in kinds. New Kubernetes versions add fields to spec and
// status, so an unknown field there is reported only if a known one has a similar name.
var knownFields = map[schema.GroupKind]fieldTable{
	{Kind: "Pod"}: {
		spec: `activeDeadlineSeconds affinity automountServiceAccountToken containers dnsConfig dnsPolicy enableServiceLinks ephemeralContainers hostAliases
			hostIPC hostNetwork hostPID hostUsers hostname hostnameOverride imagePullSecrets initContainers nodeName nodeSelector os overhead preemptionPolicy
			priority priorityClassName readinessGates resourceClaims resources restartPolicy runtimeClassName schedulerName schedulingGates securityContext
			serviceAccount serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain terminationGracePeriodSeconds tolerations
			topologySpreadConstraints volumes`,
		status: `allocatedResources conditions containerStatuses ephemeralContainerStatuses extendedResourceClaimStatus hostIP hostIPs initContainerStatuses message
			nominatedNodeName observedGeneration phase podIP podIPs qosClass reason resize resourceClaimStatuses resources startTime`,
	},
	{Kind: "Node"}: {
		spec: `configSource externalID podCIDR podCIDRs providerID taints unschedulable`,
		status: `addresses allocatable capacity conditions config daemonEndpoints declaredFeatures features images nodeInfo phase runtimeHandlers
			volumesAttached volumesInUse`,
	},
	{Kind: "PersistentVolumeClaim"}: {
		spec:   `accessModes dataSource dataSourceRef resources selector storageClassName volumeAttributesClassName volumeMode volumeName`,
		status: `accessModes allocatedResourceStatuses allocatedResources capacity conditions currentVolumeAttributesClassName modifyVolumeStatus phase`,
	},
	{Kind: "PersistentVolume"}: {status: `lastPhaseTransitionTime message phase reason`},
	{Kind: "Namespace"}:        {spec: `finalizers`, status: `conditions phase`},
	{Kind: "Service"}:          {status: `conditions loadBalancer`},
	{Group: "apps", Kind: "Deployment"}: {
		spec: `minReadySeconds paused progressDeadlineSeconds replicas revisionHistoryLimit selector strategy template`,
		status: `availableReplicas collisionCount conditions observedGeneration readyReplicas replicas terminatingReplicas unavailableReplicas
			updatedReplicas`,
	},
	{Group: "apps", Kind: "ReplicaSet"}: {
		spec:   `minReadySeconds replicas selector template`,
		status: `availableReplicas conditions fullyLabeledReplicas observedGeneration readyReplicas replicas terminatingReplicas`,
	},
	{Group: "apps", Kind: "StatefulSet"}: {
		spec: `minReadySeconds ordinals persistentVolumeClaimRetentionPolicy podManagementPolicy replicas revisionHistoryLimit selector serviceName template
			updateStrategy volumeClaimTemplates`,
		status: `availableReplicas collisionCount conditions currentReplicas currentRevision observedGeneration readyReplicas replicas updateRevision
			updatedReplicas`,
	},
	{Group: "apps", Kind: "DaemonSet"}: {
		spec: `minReadySeconds revisionHistoryLimit selector template updateStrategy`,
		status: `collisionCount conditions currentNumberScheduled desiredNumberScheduled numberAvailable numberMisscheduled numberReady numberUnavailable
			observedGeneration updatedNumberScheduled`,
	},
	{Group: "batch", Kind: "Job"}: {
		spec: `activeDeadlineSeconds backoffLimit backoffLimitPerIndex completionMode completions managedBy manualSelector maxFailedIndexes parallelism
			podFailurePolicy podReplacementPolicy selector successPolicy suspend template ttlSecondsAfterFinished`,
		status: `active completedIndexes completionTime conditions failed failedIndexes ready startTime succeeded terminating uncountedTerminatedPods`,
	},
}

// A fieldTable lists the fields of spec and status, separated by spaces; "" if they are not known.
type fieldTable struct{ spec, status string }

// checkFields looks for an unknown field at the beginning of a path. It returns the length of the
// path up to and including the field, and the field that the author probably intended. It is false
// if no field is wrong, or if that is not certain.
func checkFields(kind schema.GroupVersionKind, fields []string) (n int, meant string, wrong bool) {
	if len(fields) == 0 {
		return 0, "", false
	}
	table, builtin := knownFields[kind.GroupKind()]
	if top := []string{"apiVersion", "kind", "metadata", "spec", "status"}; builtin && !slices.Contains(top, fields[0]) {
		return 1, position.Nearest(fields[0], top), true
	}
	if len(fields) == 1 {
		return 0, "", false
	}
	list := map[string]string{"spec": table.spec, "status": table.status}[fields[0]]
	names := strings.Fields(list)
	if fields[0] == "metadata" {
		names = metadataFields
	}
	if len(names) == 0 || slices.Contains(names, fields[1]) {
		return 0, "", false
	}
	meant = position.Nearest(fields[1], names)
	return 2, meant, meant != "" || fields[0] == "metadata"
}

// enumerations are the possible values of fields of built-in kinds, by path.
var enumerations = map[schema.GroupKind]map[string]string{
	{Kind: "Pod"}: {
		`."status"."phase"`:       "Pending Running Succeeded Failed Unknown",
		`."status"."qosClass"`:    "Guaranteed Burstable BestEffort",
		`."spec"."restartPolicy"`: "Always OnFailure Never",
	},
	{Kind: "Node"}:                  {`."status"."phase"`: "Pending Running Terminated"},
	{Kind: "Namespace"}:             {`."status"."phase"`: "Active Terminating"},
	{Kind: "PersistentVolumeClaim"}: {`."status"."phase"`: "Pending Bound Lost"},
	{Kind: "PersistentVolume"}:      {`."status"."phase"`: "Pending Available Bound Released Failed"},
}

// valuesOf returns the values that a path can lead to on objects of a kind. It is false if they are
// not known. The status of a condition, of any kind, is True, False or Unknown.
func valuesOf(kind schema.GroupVersionKind, p path) ([]string, bool) {
	if list, ok := enumerations[kind.GroupKind()][p.String()]; ok {
		return strings.Fields(list), true
	}
	condition := len(p) > 3 && p[0].field == "status" && p[1].field == "conditions" && p[2].each && p[len(p)-1].field == "status"
	return []string{"True", "False", "Unknown"}, condition && (len(p) == 4 || len(p) == 5 && p[3].where["type"] != "")
}
