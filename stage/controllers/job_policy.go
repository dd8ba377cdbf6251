package controllers

import (
	"fmt"
	"slices"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// byFailurePolicy ends a Job because of how a Pod failed.
func (r *jobRun) byFailurePolicy() condition {
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

// ignored reports whether the policy says that a failure does not count.
func (r *jobRun) ignored(p pod) bool {
	action, _ := r.matchFailurePolicy(p)
	return action == "Ignore"
}

// matchFailurePolicy returns the action of the first rule that is about a failed Pod, "" if none is.
func (r *jobRun) matchFailurePolicy(p pod) (action, message string) {
	for i, rule := range r.spec.failurePolicy {
		action = text(rule, "action")
		if codes := tree(rule, "onExitCodes"); codes != nil {
			if c, code := p.failedContainer(codes); c != "" {
				return action, fmt.Sprintf("Container %s for pod %s/%s failed with exit code %d matching %s rule at index %d", c, p.GetNamespace(), p.GetName(), code, action, i)
			}
			continue
		}
		if kind := p.conditionAmong(trees(rule, "onPodConditions")); kind != "" {
			return action, fmt.Sprintf("Pod %s/%s has condition %s matching %s rule at index %d", p.GetNamespace(), p.GetName(), kind, action, i)
		}
	}
	return "", ""
}

// failedContainer is the first container that ended with one of the codes.
func (p pod) failedContainer(codes map[string]any) (name string, code int64) {
	only, in := text(codes, "containerName"), text(codes, "operator") == "In"
	for _, field := range []string{"containerStatuses", "initContainerStatuses"} {
		for _, c := range trees(p.Object, "status", field) {
			code, ended := object.Int64(c, "state", "terminated", "exitCode")
			if !ended || code == 0 || only != "" && only != text(c, "name") {
				continue
			}
			if slices.ContainsFunc(list(codes, "values"), func(v any) bool { n, ok := object.ToInt64(v); return ok && n == code }) == in {
				return text(c, "name"), code
			}
		}
	}
	return "", 0
}

// conditionAmong is the first condition of the Pod that one of the patterns is about.
func (p pod) conditionAmong(patterns []map[string]any) string {
	for _, c := range trees(p.Object, "status", "conditions") {
		for _, pattern := range patterns {
			status := text(pattern, "status")
			if status == "" {
				status = "True"
			}
			if text(c, "type") == text(pattern, "type") && text(c, "status") == status {
				return text(c, "type")
			}
		}
	}
	return ""
}

// indexBackoff is how long the Pod of an index has to wait, if each index has a backoff of its own.
func (r *jobRun) indexBackoff(index int64) time.Duration {
	if r.spec.indexBackoff < 0 {
		return 0
	}
	var last time.Time
	for _, p := range r.pods {
		if at := p.endedAt(r.Now); indexOf(p) == index && r.hasFailed(p) && at.After(last) {
			last = at
		}
	}
	return backoffLeft(r.failures[index], last, r.Now)
}
