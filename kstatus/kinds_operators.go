package kstatus

import (
	"strings"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// operators has the rules for Gardener, the cluster operators of OpenShift, Chaos Mesh and
// Portworx. Each follows the documentation of the API, which its comment names.
var operators = kindTable{
	"*.extensions.gardener.cloud":                        either(extensionInUse, gardenerObserved, extensionError),
	"Cluster.extensions.gardener.cloud":                  exists,
	"ManagedResource.resources.gardener.cloud":           either(annotated("resources.gardener.cloud/ignore", "true"), gardenerObserved, managedResource),
	"Seed.core.gardener.cloud":                           either(gardenerObserved, needs("GardenletReady")),
	"ControllerInstallation.core.gardener.cloud":         either(gardenerObserved, needs("Valid", "Installed", "Healthy")),
	"ClusterOperator.config.openshift.io":                clusterOperator,
	"*.chaos-mesh.org":                                   chaos,
	"StorageCluster,StorageNode.core.libopenstorage.org": either(notInQuorum, reported),
}

// gardenerObserved waits for the latest generation. The APIs of Gardener leave out an
// observedGeneration of 0, so that a missing one has not observed anything (gardener,
// pkg/apis/core/v1beta1 and pkg/apis/extensions/v1alpha1: "observedGeneration,omitempty").
func gardenerObserved(o Object) (Result, bool) {
	observed := o.IntOr(0, "status", "observedGeneration")
	if len(o.status) == 0 || observed >= o.generation() {
		return Result{}, false
	}
	m := withNumbers("%s generation is %d, but latest observed generation is %d", o.generation(), observed)
	m.words[0] = o.kind
	return inProgress("LatestGenerationNotObserved", m, "status.observedGeneration"), true
}

// extensionInUse: while Gardener asks an extension for an operation, the annotation is there
// (gardener, docs/extensions/reconcile-trigger.md).
func extensionInUse(o Object) (Result, bool) {
	annotations, _ := object.ToMap(o.metadata["annotations"])
	operation, _ := annotations["gardener.cloud/operation"].(string)
	r := InProgress.because("OperationPending", withWords("Operation %s is pending", operation))
	return r.atItem("metadata.annotations", "gardener.cloud/operation"), operation != ""
}

// extensionError: the controller of an extension removes lastError when an operation succeeds, and
// tries again otherwise (gardener, pkg/apis/extensions/v1alpha1/types_defaults.go, LastError). If the
// operation has failed, its state says so.
func extensionError(o Object) (Result, bool) {
	description, ok := object.String(o.status, "lastError", "description")
	if !ok || o.Text("status", "lastOperation", "state") != "Succeeded" {
		return Result{}, false
	}
	return InProgress.Because("LastError", description).At("status.lastError"), true
}

// managedResource needs both conditions. They are also False while resources are applied or become
// healthy; a reason that ends in Failed is an error (gardener, docs/concepts/resource-manager.md,
// "Conditions").
func managedResource(o Object) (Result, bool) {
	for _, kind := range [...]string{"ResourcesApplied", "ResourcesHealthy"} {
		c, ok := o.fresh(kind)
		switch {
		case !ok:
			return conditionMissing(kind), true
		case c.status == "False" && strings.HasSuffix(c.reason(), "Failed"):
			return Failed.From(c.condition()), true
		case c.status != "True":
			return InProgress.From(c.condition()), true
		}
	}
	return when("ResourcesProgressing", "True", InProgress)(o)
}

// clusterOperator has the two conditions that ask for an administrator: Degraded=True, and
// Available=False, whatever the operator does at the time. One that has not reported a version yet
// is being installed (openshift/api, config/v1/types_cluster_operator.go: OperatorAvailable,
// OperatorDegraded, ClusterOperatorStatus.Versions).
func clusterOperator(o Object) (Result, bool) {
	if r, ok := when("Degraded", "True", Failed)(o); ok {
		return r, true
	}
	if len(o.List("status", "versions")) == 0 {
		return needs("Available")(o)
	}
	return either(falseFails("Available"), needs("Available"))(o)
}

// chaos reads how far an experiment is from its desired phase (chaos-mesh,
// api/v1alpha1/common_types.go: ChaosConditionType and DesiredPhase). AllRecovered is also True
// before the first injection.
func chaos(o Object) (Result, bool) {
	desired := o.Text("status", "experiment", "desiredPhase")
	if desired == "" {
		return Result{}, false // a Workflow, a Schedule, or nothing yet
	}
	if r, paused := pausedBy("Paused")(o); paused {
		return r, true
	}
	kind := "AllInjected"
	if desired == "Stop" {
		kind = "AllRecovered"
	}
	c, ok := o.fresh(kind)
	if ok && c.status == "True" {
		return Current.From(c.condition()), true
	}
	return notYet(kind, c, ok), true
}

// notInQuorum reads the status of conditions that has no word in the lexicon: too few nodes are up for
// the cluster to serve (libopenstorage/operator, pkg/apis/core/v1/storagecluster.go,
// ClusterConditionStatus).
func notInQuorum(o Object) (Result, bool) {
	for c := range o.Conditions() {
		if c.Status == "NotInQuorum" {
			return Failed.From(c), true
		}
	}
	return Result{}, false
}
