package kstatus

import "math"

// Upstream's rules for the workloads of groups apps and batch.

func deployment(o *Object) Result {
	complete, available := false, false
	for _, item := range o.conditions {
		c, _ := viewOf(item)
		switch c.kind {
		case "Available":
			available = available || c.status == "True"
		case "Progressing":
			switch c.reason() {
			case "ProgressDeadlineExceeded":
				return deadlineExceeded(c.condition())
			case "NewReplicaSetAvailable":
				complete = complete || c.status == "True"
			}
		}
	}
	if r, waits := deploymentReplicas(o); waits {
		return r
	}
	switch {
	case !complete && o.hasProgressDeadline():
		return inProgress("ReplicaSetNotAvailable", text("ReplicaSet not Available"), "status.conditions")
	case !available:
		return inProgress("DeploymentNotAvailable", text("Deployment not Available"), "status.conditions")
	}
	return deploymentAvailable(o.count("replicas"))
}

// deploymentReplicas compares the counts. It returns false if all are as they shall be.
func deploymentReplicas(o *Object) (Result, bool) {
	wanted, replicas := o.wantedReplicas(), o.count("replicas")
	updated, ready, available := o.count("updatedReplicas"), o.count("readyReplicas"), o.count("availableReplicas")
	switch {
	case wanted > replicas:
		return inProgress("LessReplicas", withNumbers("Replicas: %d/%d", replicas, wanted), "status.replicas"), true
	case wanted > updated:
		return inProgress("LessUpdated", withNumbers("Updated: %d/%d", updated, wanted), "status.updatedReplicas"), true
	case replicas > wanted:
		return inProgress("ExtraPods", withNumbers("Pending termination: %d", replicas-wanted), "status.replicas"), true
	case updated > available:
		return inProgress("LessAvailable", withNumbers("Available: %d/%d", available, updated), "status.availableReplicas"), true
	case wanted > ready:
		return inProgress("LessReady", withNumbers("Ready: %d/%d", ready, wanted), "status.readyReplicas"), true
	}
	return Result{}, false
}

// hasProgressDeadline reports whether the controller watches the progress of the Deployment and
// reports it in a condition.
func (o *Object) hasProgressDeadline() bool {
	deadline, limited := integer(o.specField("progressDeadlineSeconds"))
	return limited && deadline != math.MaxInt32
}

// deadlineExceeded has its own text, and keeps the controller's message for the condition.
func deadlineExceeded(c Condition) Result {
	r := Failed.From(c)
	r.message, r.conditionText = withWords("Progress deadline exceeded", c.Message), true
	return r
}

func deploymentAvailable(replicas int64) Result {
	return Current.because("", withNumbers("Deployment is available. Replicas: %d", replicas))
}

func replicaSet(o *Object) Result {
	if c, failed := o.findView("ReplicaFailure", "True", ""); failed {
		return InProgress.Because("ReplicaFailure", "Replica Failure condition. Check Pods").onCondition(c.kind)
	}
	wanted, replicas := o.wantedReplicas(), o.count("replicas")
	labelled, available, ready := o.count("fullyLabeledReplicas"), o.count("availableReplicas"), o.count("readyReplicas")
	switch {
	case wanted > labelled:
		return inProgress("LessLabelled", withNumbers("Labelled: %d/%d", labelled, wanted), "status.fullyLabeledReplicas")
	case wanted > available:
		return inProgress("LessAvailable", withNumbers("Available: %d/%d", available, wanted), "status.availableReplicas")
	case wanted > ready:
		return inProgress("LessReady", withNumbers("Ready: %d/%d", ready, wanted), "status.readyReplicas")
	case replicas > wanted:
		return inProgress("ExtraPods", withNumbers("Pending termination: %d", replicas-wanted), "status.replicas")
	}
	return Current.because("", withNumbers("ReplicaSet is available. Replicas: %d", replicas))
}

func statefulSet(o *Object) Result {
	strategy, _ := mapOf(o.specField("updateStrategy"))
	if strategy != nil && strategy["type"] == "OnDelete" {
		return Current.Because("", "StatefulSet is using the ondelete update strategy").At("spec.updateStrategy.type")
	}
	wanted, replicas, ready := o.wantedReplicas(), o.count("replicas"), o.count("readyReplicas")
	switch {
	case wanted > replicas:
		return inProgress("LessReplicas", withNumbers("Replicas: %d/%d", replicas, wanted), "status.replicas")
	case wanted > ready:
		return inProgress("LessReady", withNumbers("Ready: %d/%d", ready, wanted), "status.readyReplicas")
	case replicas > wanted:
		return inProgress("ExtraPods", withNumbers("Pending termination: %d", replicas-wanted), "status.replicas")
	}
	// Upstream takes a partition of -1 for none.
	if strategy != nil {
		if partition := o.IntOr(-1, "spec", "updateStrategy", "rollingUpdate", "partition"); partition != -1 {
			return partitionRollout(o, wanted-partition)
		}
	}
	return statefulSetRevision(o, wanted, replicas)
}

// partitionRollout returns the verdict on a StatefulSet that shall update only some of its Pods.
func partitionRollout(o *Object, wanted int64) Result {
	updated := o.count("updatedReplicas")
	if updated < wanted {
		return inProgress("PartitionRollout", withNumbers("updated: %d/%d", updated, wanted), "status.updatedReplicas")
	}
	return Current.because("", withNumbers("Partition rollout complete. updated: %d", updated))
}

func statefulSetRevision(o *Object, wanted, replicas int64) Result {
	running := o.count("currentReplicas")
	current, _ := o.statusField("currentRevision").(string)
	updated, _ := o.statusField("updateRevision").(string)
	switch {
	case wanted > running:
		return inProgress("LessCurrent", withNumbers("current: %d/%d", running, wanted), "status.currentReplicas")
	case current != updated:
		m := text("Waiting for updated revision to match current")
		return inProgress("RevisionMismatch", m, "status.updateRevision")
	}
	return allScheduled(replicas)
}

func allScheduled(replicas int64) Result {
	return Current.because("", withNumbers("All replicas scheduled as expected. Replicas: %d", replicas))
}

func daemonSet(o *Object) Result {
	_, generated := o.Int("metadata", "generation")
	_, observed := o.Int("status", "observedGeneration")
	wanted := o.IntOr(-1, "status", "desiredNumberScheduled")
	scheduled, updated := o.count("currentNumberScheduled"), o.count("updatedNumberScheduled")
	available, ready := o.count("numberAvailable"), o.count("numberReady")
	switch {
	case !generated:
		return inProgress("NoGeneration", withWords("%s metadata.generation not found", o.kind), "metadata.generation")
	case !observed:
		return noObservedGeneration(o)
	// Upstream takes -1 for missing.
	case wanted == -1:
		return inProgress("NoDesiredNumber", text("Missing .status.desiredNumberScheduled"), "status.desiredNumberScheduled")
	case wanted > scheduled:
		return inProgress("LessCurrent", withNumbers("Current: %d/%d", scheduled, wanted), "status.currentNumberScheduled")
	case wanted > updated:
		return inProgress("LessUpdated", withNumbers("Updated: %d/%d", updated, wanted), "status.updatedNumberScheduled")
	case wanted > available:
		return inProgress("LessAvailable", withNumbers("Available: %d/%d", available, wanted), "status.numberAvailable")
	case wanted > ready:
		return inProgress("LessReady", withNumbers("Ready: %d/%d", ready, wanted), "status.numberReady")
	}
	return allScheduled(wanted)
}

func noObservedGeneration(o *Object) Result {
	m := withWords("%s status.observedGeneration not found", o.kind)
	return inProgress("NoObservedGeneration", m, "status.observedGeneration")
}

func job(o *Object) Result {
	parallelism := o.IntOr(1, "spec", "parallelism")
	completions := o.IntOr(parallelism, "spec", "completions")
	suspend := o.Bool("spec", "suspend")
	if o.waitForJobs && suspend {
		return suspendedJob()
	}
	for c := range o.Conditions() {
		switch {
		case c.Status != "True":
		case c.Type == "Complete":
			return Current.because("", withNumbers("Job Completed. succeeded: %d/%d", o.count("succeeded"), completions))
		case c.Type == "Failed":
			m := withNumbers("Job Failed. failed: %d/%d", o.count("failed"), completions)
			return Failed.because("JobFailed", m).onCondition("Failed").terminal()
		case c.Type == "Suspended" && suspend:
			return suspendedJob()
		}
	}
	return unfinishedJob(o, parallelism)
}

func suspendedJob() Result {
	return Current.Because("", "Job is suspended").At("spec.suspend").suspended()
}

func unfinishedJob(o *Object, parallelism int64) Result {
	started := o.Text("status", "startTime") != ""
	progress := withNumbers("Job in progress. success:%d, active: %d, failed: %d",
		o.count("succeeded"), o.count("active"), o.count("failed"))
	switch {
	case started && o.waitForJobs:
		return inProgress("JobInProgress", progress, "status.conditions")
	case started:
		return Current.because("", progress).At("status.startTime")
	case o.waitForJobs:
		m := withNumbers("Job not started. active: %d/%d", o.count("active"), parallelism)
		return inProgress("JobNotStarted", m, "status.startTime")
	}
	return inProgress("JobNotStarted", text("Job not started"), "status.startTime")
}
