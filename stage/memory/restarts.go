package memory

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

var pods = schema.GroupResource{Resource: "pods"}

// checkStatus validates a new status like an API server.
func (r *request) checkStatus(before, next map[string]any) fieldErrors {
	if r.resource() != pods {
		return nil
	}
	return checkRestarts(before, next)
}

// checkRestarts refuses a status in which a terminated container of a Pod runs again against its
// restart policy. The stored Pod has the policy.
func checkRestarts(before, next map[string]any) (faults fieldErrors) {
	for _, list := range []struct{ spec, status string }{{"containers", "containerStatuses"}, {"initContainers", "initContainerStatuses"}} {
		old, _ := object.Slice(before, "status", list.status)
		now, _ := object.Slice(next, "status", list.status)
		for i, v := range old {
			status, _ := v.(map[string]any)
			exit, terminated := object.Map(status, "state", "terminated")
			if !terminated || !runsAgain(status["name"], now) {
				continue
			}
			if code, _ := object.Int64(exit, "exitCode"); !mayRestart(before, list.spec, status["name"], code) {
				faults = append(faults, field.Forbidden(field.NewPath("status", list.status).Index(i).Child("state"), "may not be transitioned to non-terminated state"))
			}
		}
	}
	return faults
}

// runsAgain reports whether a container has a status that is not terminated.
func runsAgain(name any, statuses []any) bool {
	return slices.ContainsFunc(statuses, func(v any) bool {
		status, _ := v.(map[string]any)
		_, terminated := object.Map(status, "state", "terminated")
		return status["name"] == name && !terminated
	})
}

// mayRestart reports whether the policy of a container, or else the policy of the Pod, allows a
// restart. A container with restart rules may always be restarted.
func mayRestart(pod map[string]any, list string, name any, exitCode int64) bool {
	policy, _ := object.String(pod, "spec", "restartPolicy")
	containers, _ := object.Slice(pod, "spec", list)
	for _, v := range containers {
		c, _ := v.(map[string]any)
		if c["restartPolicyRules"] != nil {
			return true
		}
		if own, _ := c["restartPolicy"].(string); own != "" && c["name"] == name {
			policy = own
		}
	}
	return policy != "Never" && (policy != "OnFailure" || exitCode != 0)
}
