package kstatustest

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// The custom kinds whose controllers do not report by conditions alone. Each maker writes the
// fields and words of the kind's own API.

// knownMakers returns the makers for a custom kind that is known.
func knownMakers(kind schema.GroupKind) (kindMakers, bool) {
	switch {
	case strings.HasSuffix(kind.Group, ".toolkit.fluxcd.io"):
		return kindMakers{Current: one(withConditions([]string{"Ready"})), Failed: one(fluxStalled), Pending: one(customPending)}, true
	case kind.Group == "gateway.networking.k8s.io" && strings.HasSuffix(kind.Kind, "Route"):
		return kindMakers{Current: one(routeAccepted), Failed: one(routeWithoutBackend)}, true
	}
	makers, known := map[schema.GroupKind]kindMakers{
		{Group: "gateway.networking.k8s.io", Kind: "Gateway"}:          {Current: one(withConditions([]string{"Accepted", "Programmed"})), Failed: one(gatewayInvalid)},
		{Group: "velero.io", Kind: "Backup"}:                           {Current: one(veleroEnded("Completed")), Failed: one(veleroEnded("Failed"))},
		{Group: "velero.io", Kind: "Restore"}:                          {Current: one(veleroEnded("Completed")), Failed: one(veleroEnded("Failed"))},
		{Group: "operators.coreos.com", Kind: "ClusterServiceVersion"}: {Current: one(csvSucceeded), Failed: one(csvFailed)},
		{Group: "postgresql.cnpg.io", Kind: "Cluster"}:                 {Current: one(cnpgHealthy), Failed: one(cnpgUnrecoverable)},
		{Group: "argoproj.io", Kind: "Application"}:                    {Current: one(application("Healthy")), Failed: one(application("Degraded"))},
		{Group: "argoproj.io", Kind: "Rollout"}:                        {Current: one(rolloutHealthy), Failed: one(rolloutDegraded)},
		{Group: "apps.kruise.io", Kind: "CloneSet"}:                    {Current: one(cloneSet), Failed: one(cloneSetFailed)},
		{Group: "ray.io", Kind: "RayCluster"}:                          {Current: one(rayReady), Failed: one(rayFailed)},
		{Group: "elasticsearch.k8s.elastic.co", Kind: "Elasticsearch"}: {Current: one(elastic("green", "Ready")), Failed: one(elastic("red", "Invalid"))},
	}[kind]
	return makers, known
}

// fluxStalled writes what Flux writes when trying again does not help.
func fluxStalled(d *draft) {
	d.observeCustom()
	message := d.message("the object cannot be reconciled")
	d.customConditions([]condition{{"Ready", "False", "ReconciliationFailed", message}, {"Stalled", "True", "ReconciliationFailed", message}})
}

func routeAccepted(d *draft) {
	d.parents(condition{"Accepted", "True", "Accepted", "Route is accepted"}, condition{"ResolvedRefs", "True", "ResolvedRefs", "All references resolved"})
}

func routeWithoutBackend(d *draft) {
	d.parents(condition{"Accepted", "True", "Accepted", "Route is accepted"},
		condition{"ResolvedRefs", "False", "BackendNotFound", d.message("a backend does not exist")})
}

// parents writes conditions for each parent of a route: in Gateway API a route itself has no conditions.
func (d *draft) parents(list ...condition) {
	d.drop("conditions")
	refs, _ := object.Slice(d.fields, "spec", "parentRefs")
	parents := make([]any, 0, len(refs))
	old, _ := object.Slice(d.status, "parents")
	for i, ref := range refs {
		parent := map[string]any{"parentRef": object.DeepCopy(ref), "controllerName": "example.com/gateway-controller"}
		was := map[string]any{}
		if i < len(old) {
			was, _ = object.ToMap(old[i])
		}
		inner := &draft{options: d.options, time: d.time, fields: d.fields, status: object.CopyMap(was)}
		inner.customConditions(list)
		for _, item := range inner.status["conditions"].([]any) {
			item.(map[string]any)["observedGeneration"] = d.int(1, "metadata", "generation")
		}
		parent["conditions"] = inner.status["conditions"]
		parents = append(parents, parent)
	}
	d.status["parents"] = parents
}

func gatewayInvalid(d *draft) {
	d.observeCustom()
	message := d.message("the parameters are not valid")
	d.customConditions([]condition{{"Accepted", "False", "InvalidParameters", message}, {"Programmed", "False", "Invalid", message}})
}

func veleroEnded(phase string) maker {
	return func(d *draft) {
		d.drop("failureReason")
		d.status["phase"] = phase
		d.keep("startTimestamp", d.now())
		d.status["completionTimestamp"] = d.now()
		if phase == "Failed" {
			d.status["failureReason"] = d.message("the storage location is not available")
		}
	}
}

func csvSucceeded(d *draft) {
	d.csv("Succeeded", "InstallSucceeded", "install strategy completed with no errors")
}

func csvFailed(d *draft) {
	d.csv("Failed", "InstallComponentFailed", d.message("install strategy failed"))
}

func (d *draft) csv(phase, reason, message string) {
	d.status["phase"], d.status["reason"], d.status["message"] = phase, reason, message
	d.status["lastUpdateTime"] = d.now()
	d.keep("lastTransitionTime", d.now())
}

func cnpgHealthy(d *draft) {
	n := d.int(1, "spec", "instances")
	d.status["phase"], d.status["instances"], d.status["readyInstances"] = "Cluster in healthy state", n, n
	d.drop("phaseReason")
}

func cnpgUnrecoverable(d *draft) {
	d.status["phase"], d.status["instances"] = "Cluster is unrecoverable and needs manual intervention", d.int(1, "spec", "instances")
	d.drop("readyInstances")
	d.status["phaseReason"] = d.message("no instance can be promoted")
}

func application(health string) maker {
	return func(d *draft) {
		h := d.section(d.status, "health")
		if h["status"] = health; health != "Healthy" {
			h["message"] = d.message("a resource is degraded")
		} else {
			delete(h, "message")
		}
		d.section(d.status, "sync")["status"] = "Synced"
	}
}

// rolloutHealthy writes the counts of a finished Rollout. Its observedGeneration is a text.
func rolloutHealthy(d *draft) {
	d.rollout(d.replicas(), "Healthy")
	d.drop("message")
	d.conditions([]string{"lastUpdateTime"},
		condition{"Available", "True", "AvailableReason", "Rollout has minimum availability"},
		condition{"Progressing", "True", "NewReplicaSetAvailable", "the new ReplicaSet has successfully progressed."})
}

func rolloutDegraded(d *draft) {
	message := d.message("ProgressDeadlineExceeded: the new ReplicaSet has timed out progressing.")
	d.rollout(0, "Degraded")
	d.status["message"] = message
	d.conditions([]string{"lastUpdateTime"},
		condition{"Available", "False", "AvailableReason", "Rollout does not have minimum availability"},
		condition{"Progressing", "False", "ProgressDeadlineExceeded", message})
}

func (d *draft) rollout(ready int64, phase string) {
	d.observe()
	d.status["observedGeneration"] = strconv.FormatInt(d.int(1, "metadata", "generation"), 10)
	d.status["phase"] = phase
	d.count(d.replicas(), "replicas", "updatedReplicas")
	d.count(ready, "readyReplicas", "availableReplicas")
	hash := strings.TrimPrefix(d.revision(), d.name()+"-")
	d.status["currentPodHash"] = hash
	if phase == "Healthy" {
		d.status["stableRS"] = hash
	}
}

func cloneSet(d *draft) {
	d.observe()
	n := d.replicas()
	for _, name := range []string{"replicas", "readyReplicas", "availableReplicas", "updatedReplicas", "updatedReadyReplicas", "expectedUpdatedReplicas"} {
		d.status[name] = n
	}
	d.status["currentRevision"], d.status["updateRevision"] = d.revision(), d.revision()
	d.drop("conditions")
}

func cloneSetFailed(d *draft) {
	d.observe()
	for _, name := range []string{"replicas", "readyReplicas", "availableReplicas", "updatedReplicas", "updatedReadyReplicas"} {
		d.status[name] = int64(0)
	}
	d.conditions(nil, condition{"FailedScale", "True", "", d.message("pods are forbidden: exceeded quota")})
}

// rayReady counts the workers of all groups.
func rayReady(d *draft) {
	groups, _ := object.Slice(d.fields, "spec", "workerGroupSpecs")
	var workers int64
	for _, item := range groups {
		group, _ := object.ToMap(item)
		replicas, set := object.Int64(group, "replicas")
		if !set {
			replicas, _ = object.Int64(group, "minReplicas")
		}
		hosts, set := object.Int64(group, "numOfHosts")
		if !set {
			hosts = 1
		}
		workers += replicas * hosts
	}
	d.observeCustom()
	d.drop("reason")
	d.status["state"] = "ready"
	d.count(workers, "desiredWorkerReplicas", "readyWorkerReplicas", "availableWorkerReplicas")
	d.status["lastUpdateTime"] = d.now()
	d.conditions(nil, condition{"HeadPodReady", "True", "HeadPodRunningAndReady", ""},
		condition{"RayClusterProvisioned", "True", "AllPodRunningAndReadyFirstTime", "All Ray Pods are ready for the first time"})
}

func rayFailed(d *draft) {
	d.observeCustom()
	message := d.message("the head Pod is forbidden: exceeded quota")
	d.status["reason"], d.status["lastUpdateTime"] = message, d.now()
	d.drop("state", "readyWorkerReplicas", "availableWorkerReplicas")
	d.conditions(nil, condition{"ReplicaFailure", "True", "FailedCreateHeadPod", message})
}

// elastic counts the nodes of all sets.
func elastic(health, phase string) maker {
	return func(d *draft) {
		sets, _ := object.Slice(d.fields, "spec", "nodeSets")
		var nodes int64
		for _, item := range sets {
			set, _ := object.ToMap(item)
			count, _ := object.Int64(set, "count")
			nodes += count
		}
		d.observeCustom()
		d.status["health"], d.status["phase"] = health, phase
		d.count(nodes, "availableNodes")
		if version := d.text("spec", "version"); version != "" {
			d.status["version"] = version
		}
	}
}
