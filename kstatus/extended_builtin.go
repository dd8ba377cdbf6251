package kstatus

import (
	"encoding/json"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// builtinWorkloads are rules for built-in workloads. Where they have no opinion, the rules of
// upstream follow.
var builtinWorkloads = kindTable{
	"Pod.":                       podExtended,
	"Deployment.apps":            deploymentExtended,
	"Deployment.extensions":      deploymentExtended,
	"ReplicaSet.apps":            replicaFailure,
	"ReplicaSet.extensions":      replicaFailure,
	"ReplicationController.":     replicationController,
	"StatefulSet.apps":           statefulSetExtended,
	"DaemonSet.apps":             daemonSetExtended,
	"DaemonSet.extensions":       daemonSetExtended,
	"Job.batch":                  jobExtended,
	"CronJob.batch":              cronJob,
	"PodDisruptionBudget.policy": disruptionBudget,
}

// replicaFailure is InProgress: the controller tries again to create the Pods.
var replicaFailure = when("ReplicaFailure", "True", InProgress)

// replicationController has the fields of a ReplicaSet.
func replicationController(o Object) (Result, bool) {
	if r, failed := replicaFailure(o); failed {
		return r, true
	}
	return replicaSet(&o), true
}

// deploymentExtended ignores a missed deadline once all replicas are available. A ReplicaFailure,
// such as an exceeded resourceQuota, is the reason to wait until the deadline.
func deploymentExtended(o Object) (Result, bool) {
	if o.Bool("spec", "paused") {
		return suspendedBy("spec", "paused"), true
	}
	wanted, replicas := o.wantedReplicas(), o.count("replicas")
	updated, ready, available := o.count("updatedReplicas"), o.count("readyReplicas"), o.count("availableReplicas")
	if observed, told := o.Int("status", "observedGeneration"); told && observed > 0 && wanted == 0 && replicas == 0 {
		return deploymentAvailable(0), true
	}
	if _, yes := o.find("Available", "True", ""); yes && wanted == replicas && min(updated, ready, available) >= wanted {
		return deploymentAvailable(replicas), true
	}
	return replicaFailure(o)
}

// statefulSetExtended counts the replicas also if the update strategy is OnDelete.
func statefulSetExtended(o Object) (Result, bool) {
	wanted := o.wantedReplicas()
	onDelete := o.Text("spec", "updateStrategy", "type") == "OnDelete"
	switch {
	case onDelete && wanted > o.count("replicas"):
		return inProgress("LessReplicas", withNumbers("Replicas: %d/%d", o.count("replicas"), wanted), "status.replicas"), true
	case onDelete && wanted > o.count("readyReplicas"):
		return inProgress("LessReady", withNumbers("Ready: %d/%d", o.count("readyReplicas"), wanted), "status.readyReplicas"), true
	case wanted > o.count("availableReplicas") && o.IntOr(0, "spec", "minReadySeconds") > 0:
		return inProgress("LessAvailable", withNumbers("Available: %d/%d", o.count("availableReplicas"), wanted), "status.availableReplicas"), true
	}
	return Result{}, false
}

// daemonSetExtended does not wait for updates if the update strategy is OnDelete.
func daemonSetExtended(o Object) (Result, bool) {
	if o.Text("spec", "updateStrategy", "type") != "OnDelete" {
		return Result{}, false
	}
	wanted := o.IntOr(-1, "status", "desiredNumberScheduled")
	available := min(o.count("numberAvailable"), o.count("numberReady"))
	switch {
	case wanted < 0:
		return Result{}, false
	case available < wanted:
		return inProgress("LessAvailable", withNumbers("Available: %d/%d", available, wanted), "status.numberAvailable"), true
	}
	return Current.Because("", "DaemonSet is using the ondelete update strategy").At("spec.updateStrategy.type"), true
}

// jobExtended reads the outcome of a Job before its last Pods are gone, and the reason of a
// failure.
func jobExtended(o Object) (Result, bool) {
	if _, complete := o.find("Complete", "True", ""); complete {
		return Result{}, false
	}
	for _, kind := range [...]string{"Failed", "FailureTarget"} {
		if c, ok := o.find(kind, "True", ""); ok && (c.Message != "" || kind == "FailureTarget") {
			return Failed.From(c).terminal(), true
		}
	}
	if c, ok := o.find("SuccessCriteriaMet", "True", ""); ok {
		return Current.From(c), true
	}
	return Result{}, false
}

// cronJob is Failed from the end of a failed run until the next run starts.
func cronJob(o Object) (Result, bool) {
	if o.Bool("spec", "suspend") {
		return suspendedBy("spec", "suspend"), true
	}
	scheduled, succeeded := o.Text("status", "lastScheduleTime"), o.Text("status", "lastSuccessfulTime")
	// Both are RFC 3339 in UTC, so that strings compare like times.
	if succeeded != "" && scheduled > succeeded && len(o.List("status", "active")) == 0 {
		return Failed.Because("LastRunFailed", "The last run did not succeed").At("status.lastSuccessfulTime"), true
	}
	return Result{}, false
}

// disruptionBudget compares the healthy Pods with the wanted ones.
func disruptionBudget(o Object) (Result, bool) {
	for c := range o.Conditions() {
		if c.Type == "DisruptionAllowed" && c.Reason == "SyncFailed" {
			return Failed.From(c), true
		}
	}
	healthy, wanted := o.count("currentHealthy"), o.count("desiredHealthy")
	switch {
	case len(o.status) == 0:
		return withoutStatus(o)
	case healthy < wanted:
		return inProgress("LessHealthy", withNumbers("Healthy: %d/%d", healthy, wanted), "status.currentHealthy"), true
	}
	return Result{}, false
}

// builtinOthers are rules for the other built-in kinds.
var builtinOthers = kindTable{
	"Service.":               serviceExtended,
	"PersistentVolumeClaim.": either(phaseTable{fatal: "Lost"}.at("status", "phase"), pendingClaim),
	"Namespace.": phaseTable{
		current:    "Active",
		inProgress: "Terminating",
	}.at("status", "phase"),
	"ResourceClaim.resource.k8s.io":                 resourceClaim,
	"ResourceQuota.":                                resourceQuota,
	"Ingress.networking.k8s.io":                     loadBalancer,
	"Ingress.extensions":                            loadBalancer,
	"HorizontalPodAutoscaler.autoscaling":           autoscaler,
	"CustomResourceDefinition.apiextensions.k8s.io": definitionExtended,
	"CertificateSigningRequest.certificates.k8s.io": signingRequest,
}

// serviceExtended waits for the external address of a load balancer.
func serviceExtended(o Object) (Result, bool) {
	if o.Text("spec", "type") != "LoadBalancer" || o.Text("spec", "clusterIP") == "" || len(o.List("spec", "externalIPs")) > 0 {
		return Result{}, false
	}
	return loadBalancer(o)
}

// loadBalancer is Current once an address is assigned.
func loadBalancer(o Object) (Result, bool) {
	if len(o.List("status", "loadBalancer", "ingress")) == 0 {
		return inProgress("NoAddress", text("Waiting for an address of the load balancer"), "status.loadBalancer.ingress"), true
	}
	return Current.Because("", "Load balancer has an address").At("status.loadBalancer.ingress"), true
}

// pendingClaim says what a claim without a volume waits for.
func pendingClaim(o Object) (Result, bool) {
	if o.Text("status", "phase") != "Pending" {
		return Result{}, false
	}
	m := text("Waiting for a volume; the claim names no StorageClass")
	if volume := o.Text("spec", "volumeName"); volume != "" {
		m = withWords("Waiting for volume %s", volume)
	} else if class := o.Text("spec", "storageClassName"); class != "" {
		m = withWords("Waiting for a volume of StorageClass %s", class)
	}
	return inProgress("NotBound", m, "status.phase"), true
}

// resourceClaim is Current once devices are allocated, which happens with the first Pod that uses
// them.
func resourceClaim(o Object) (Result, bool) {
	if o.Value("status", "allocation") == nil {
		return inProgress("NotAllocated", text("Waiting for devices"), "status.allocation"), true
	}
	return Current.Because("", "Devices are allocated").At("status.allocation"), true
}

func resourceQuota(o Object) (Result, bool) {
	if len(o.Map("status", "hard")) < len(o.Map("spec", "hard")) {
		return inProgress("QuotaNotObserved", text("The limits are not in force yet"), "status.hard"), true
	}
	return Current.Because("", "The limits are in force").At("status.hard"), true
}

// signingRequest waits for the certificate: an approval only allows the signer to issue one. Denied
// and Failed are final.
func signingRequest(o Object) (Result, bool) {
	for _, kind := range [...]string{"Denied", "Failed"} {
		if c, ok := o.find(kind, "True", ""); ok {
			return Failed.From(c).terminal(), true
		}
	}
	_, approved := o.find("Approved", "True", "")
	switch {
	case !approved:
		return conditionMissing("Approved"), true
	case o.Value("status", "certificate") == nil:
		return inProgress("NotIssued", text("Waiting for the certificate"), "status.certificate"), true
	}
	return Current.Because("", "The certificate is issued").At("status.certificate"), true
}

// autoscaler reads the conditions, which version v1 of the API stores in an annotation.
func autoscaler(o Object) (Result, bool) {
	if annotations, _ := object.ToMap(o.metadata["annotations"]); len(o.conditions) == 0 {
		encoded, _ := annotations["autoscaling.alpha.kubernetes.io/conditions"].(string)
		o.setConditions(decodeList(encoded))
	}
	for c := range o.Conditions() {
		if c.Status == "False" && isError(c.Reason) {
			return Failed.From(c), true
		}
	}
	if c, able := o.find("AbleToScale", "True", ""); able {
		return Current.From(c), true
	}
	r := InProgress.Because("NotAbleToScale", "Waiting for condition AbleToScale")
	return r.onCondition("AbleToScale"), true
}

// definitionExtended is upstream's rule for a CustomResourceDefinition whatever the order of its
// conditions. One that is Terminating is no longer served.
func definitionExtended(o Object) (Result, bool) {
	for _, bad := range [...]struct{ kind, status string }{{"NonStructuralSchema", "True"}, {"NamesAccepted", "False"}} {
		if c, ok := o.find(bad.kind, bad.status, ""); ok {
			return Failed.From(c), true
		}
	}
	if c, ok := o.find("Terminating", "True", ""); ok {
		return InProgress.From(c), true
	}
	if c, ok := o.find("Established", "False", ""); ok && c.Reason == "Installing" {
		return InProgress.From(c), true
	}
	return Result{}, false
}

func decodeList(s string) (list []any) {
	if s != "" && json.Unmarshal([]byte(s), &list) != nil {
		return nil
	}
	return list
}
