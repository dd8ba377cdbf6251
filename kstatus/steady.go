package kstatus

// isDeployment is true for the type of which there are many, and a verdict takes longest.
func (t typeMeta) isDeployment() bool { return t.kind == "Deployment" && t.apiVersion == "apps/v1" }

// steady stores the verdict on a Deployment that is as most are, most of the time: rolled out, available, nothing unusual. It reports false for all others,
// and the rules decide.
//
// It says what they would say, from the same look-ups, which take most of the time. What it saves is an [Object]: to make one takes as long as two more.
func steady(fields map[string]any, verdict *Result) bool {
	metadata, _ := fields["metadata"].(map[string]any)
	spec, _ := fields["spec"].(map[string]any)
	status, _ := fields["status"].(map[string]any)
	generation, counted := metadata["generation"].(int64)
	observed, seen := status["observedGeneration"].(int64)
	if !counted || !seen || generation != observed || metadata["deletionTimestamp"] != nil {
		return false
	}
	wanted, limited := spec["replicas"].(int64)
	replicas, present := status["replicas"].(int64)
	if !limited || !present || wanted != replicas {
		return false
	}
	updated, _ := status["updatedReplicas"].(int64)
	ready, _ := status["readyReplicas"].(int64)
	available, _ := status["availableReplicas"].(int64)
	if updated < wanted || ready < wanted || available < updated || !steadyConditions(status["conditions"]) {
		return false
	}
	verdict.counting(Current, deploymentAvailable, replicas)
	return true
}

// steadyConditions tells whether conditions say that a Deployment is rolled out and available, and nothing that a rule would look at again.
func steadyConditions(conditions any) bool {
	list, _ := conditions.([]any)
	available, complete := false, false
	for _, item := range list {
		c, _ := item.(map[string]any)
		kind, _ := c["type"].(string)
		status, _ := c["status"].(string)
		switch kind {
		case "Available":
			available = available || status == "True"
		case "Progressing":
			reason, _ := c["reason"].(string)
			if status != "True" || reason != "NewReplicaSetAvailable" {
				return false
			}
			complete = true
		case Reconciling, Stalled, "":
			return false
		}
		if status == "" {
			return false
		}
	}
	return available && complete
}
