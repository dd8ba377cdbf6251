package batch

import (
	"fmt"
	"slices"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

// byFailurePolicy returns how a Job ends because of a failed Pod, or nil if it continues.
func (r *jobRun) byFailurePolicy() conditions.Condition {
	for _, p := range r.pods {
		if !r.hasFailed(p) {
			continue
		}
		if action, message := r.matchFailurePolicy(p); action == "FailJob" {
			return r.failure("PodFailurePolicy", message)
		}
	}
	return nil
}

// isIgnored reports whether the failure policy says that the failure of a Pod does not count.
func (r *jobRun) isIgnored(p pods.Pod) bool {
	action, _ := r.matchFailurePolicy(p)
	return action == "Ignore"
}

// matchFailurePolicy returns the action of the first rule of the failure policy that matches a
// failed Pod, or "".
func (r *jobRun) matchFailurePolicy(p pods.Pod) (action, message string) {
	for i, rule := range r.spec.failurePolicy {
		action = fields.String(rule, "action")
		if codes := fields.Map(rule, "onExitCodes"); codes != nil {
			if c, code := failedContainer(p, codes); c != "" {
				return action, fmt.Sprintf("Container %s for pod %s/%s failed with exit code %d matching %s rule at index %d",
					c, p.GetNamespace(), p.GetName(), code, action, i)
			}
			continue
		}
		if kind := matchingCondition(p, fields.Maps(rule, "onPodConditions")); kind != "" {
			return action, fmt.Sprintf("Pod %s/%s has condition %s matching %s rule at index %d",
				p.GetNamespace(), p.GetName(), kind, action, i)
		}
	}
	return "", ""
}

// failedContainer returns the first container that ended with one of the exit codes.
func failedContainer(p pods.Pod, codes map[string]any) (name string, code int64) {
	only, in := fields.String(codes, "containerName"), fields.String(codes, "operator") == "In"
	for _, field := range []string{"containerStatuses", "initContainerStatuses"} {
		for _, c := range fields.Maps(p.Object, "status", field) {
			code, ended := object.Int64(c, "state", "terminated", "exitCode")
			if !ended || code == 0 || only != "" && only != fields.String(c, "name") {
				continue
			}
			if slices.ContainsFunc(fields.Slice(codes, "values"), func(v any) bool { return isCode(v, code) }) == in {
				return fields.String(c, "name"), code
			}
		}
	}
	return "", 0
}

func isCode(v any, code int64) bool {
	n, ok := object.ToInt64(v)
	return ok && n == code
}

// matchingCondition returns the type of the first condition of the Pod that matches one of the
// patterns.
func matchingCondition(p pods.Pod, patterns []map[string]any) string {
	for _, c := range fields.Maps(p.Object, "status", "conditions") {
		for _, pattern := range patterns {
			status := fields.String(pattern, "status")
			if status == "" {
				status = "True"
			}
			if fields.String(c, "type") == fields.String(pattern, "type") && fields.String(c, "status") == status {
				return fields.String(c, "type")
			}
		}
	}
	return ""
}
