package kstatustest

import (
	"fmt"
)

// The kinds of group apps, and replication controllers.

var deploymentTimes = []string{"lastUpdateTime"}

func deployed(d *draft) {
	d.observe()
	d.count(d.replicas(), "replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
	d.drop("unavailableReplicas")
	d.status["terminatingReplicas"] = int64(0)
	d.conditions(deploymentTimes,
		condition{"Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability."},
		condition{"Progressing", "True", "NewReplicaSetAvailable", fmt.Sprintf("ReplicaSet %q has successfully progressed.", d.revision())})
}

func deadlineExceeded(d *draft) {
	d.observe()
	d.count(d.replicas(), "replicas", "updatedReplicas", "unavailableReplicas")
	d.drop("readyReplicas", "availableReplicas")
	d.status["terminatingReplicas"] = int64(0)
	d.conditions(deploymentTimes,
		condition{"Available", "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability."},
		condition{"Progressing", "False", "ProgressDeadlineExceeded", d.message(fmt.Sprintf("ReplicaSet %q has timed out progressing.", d.revision()))})
}

func replicated(d *draft) {
	d.observe()
	d.tellTerminating()
	d.status["replicas"] = d.replicas()
	d.count(d.replicas(), "fullyLabeledReplicas", "readyReplicas", "availableReplicas")
	d.drop("conditions")
}

// tellTerminating writes a field that ReplicaSets have and replication controllers do not.
func (d *draft) tellTerminating() {
	if d.text("kind") == "ReplicaSet" {
		d.status["terminatingReplicas"] = int64(0)
	}
}

func replicaFailure(d *draft) {
	d.observe()
	d.tellTerminating()
	d.status["replicas"] = int64(0)
	d.drop("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
	forbidden := fmt.Sprintf("pods %q is forbidden: exceeded quota", d.name()+"-")
	d.conditions(nil, condition{"ReplicaFailure", "True", "FailedCreate", d.message(forbidden)})
}

func statefulSet(d *draft) {
	d.observe()
	d.status["replicas"], d.status["availableReplicas"] = d.replicas(), d.replicas()
	d.count(d.replicas(), "readyReplicas", "currentReplicas", "updatedReplicas")
	d.status["currentRevision"], d.status["updateRevision"] = d.revision(), d.revision()
	d.keep("collisionCount", int64(0))
}

func daemonSet(d *draft) {
	nodes := int64(max(1, d.options.Nodes))
	if d.int(0, "status", "observedGeneration") > 0 { // else the numbers are those of an empty Go struct
		nodes = d.int(nodes, "status", "desiredNumberScheduled")
	}
	d.observe()
	for _, name := range []string{"currentNumberScheduled", "desiredNumberScheduled", "numberReady"} {
		d.status[name] = nodes
	}
	d.status["numberMisscheduled"] = int64(0)
	d.count(nodes, "updatedNumberScheduled", "numberAvailable")
	d.drop("numberUnavailable")
}
