package contract

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// deleting is finalizers, grace periods and preconditions.
var deleting = []scenario{
	{name: "an object without finalizers goes at once", object: configMap, steps: []step{
		{verb: create},
		{verb: remove},
		{verb: get, reason: metav1.StatusReasonNotFound},
	}},
	{name: "finalizers hold an object until the last is removed", object: deployment, steps: []step{
		{verb: create},
		{verb: merge, body: "{metadata: {finalizers: [example.com/a, example.com/b]}}"},
		{verb: remove, want: "{metadata.generation: 2, metadata.deletionGracePeriodSeconds: 0}", versionChanged: yes},
		{verb: remove, versionChanged: no},
		{verb: merge, body: "{metadata: {finalizers: [example.com/a, example.com/b, example.com/c]}}", reason: metav1.StatusReasonInvalid},
		{verb: merge, body: "{metadata: {finalizers: [example.com/b]}}", want: "{metadata.finalizers: [example.com/b]}"},
		{verb: json, body: "[{op: remove, path: /metadata/finalizers}]"},
		{verb: get, reason: metav1.StatusReasonNotFound},
	}},
	{name: "a bound pod has a grace period", object: pod, steps: []step{
		{verb: create, want: "{metadata.generation: 1, status.phase: Pending}"},
		{verb: remove, want: "{metadata.deletionGracePeriodSeconds: 30, metadata.generation: 2}"},
		{verb: remove, body: "{gracePeriodSeconds: 60}", want: "{metadata.deletionGracePeriodSeconds: 30}", versionChanged: no},
		{verb: remove, body: "{gracePeriodSeconds: 5}", want: "{metadata.deletionGracePeriodSeconds: 5, metadata.generation: 2}", versionChanged: yes},
		{verb: remove, body: "{gracePeriodSeconds: 0}"},
		{verb: get, reason: metav1.StatusReasonNotFound},
	}},
	{name: "a pod with finalizers waits for both", object: pod, steps: []step{
		{verb: create},
		{verb: merge, body: "{metadata: {finalizers: [example.com/a]}}"},
		{verb: remove},
		{verb: merge, body: "{metadata: {finalizers: null}}", want: "{metadata.deletionGracePeriodSeconds: 30}"},
		{verb: remove, body: "{gracePeriodSeconds: 0}"},
		{verb: get, reason: metav1.StatusReasonNotFound},
	}},
	{name: "a pod that is bound to no node goes at once", object: unbound, steps: []step{
		{verb: create}, {verb: remove}, {verb: get, reason: metav1.StatusReasonNotFound},
	}},
	{name: "a pod that has ended goes at once", object: pod, steps: []step{
		{verb: create},
		{verb: merge, sub: "status", body: "{status: {phase: Succeeded}}"},
		{verb: remove},
		{verb: get, reason: metav1.StatusReasonNotFound},
	}},
	{name: "a pod that is to go at once", object: pod, events: []string{"ADDED p", "MODIFIED p", "DELETED p"}, steps: []step{
		{verb: create}, {verb: remove, body: "{gracePeriodSeconds: 0}"}, {verb: get, reason: metav1.StatusReasonNotFound},
	}},
	{name: "a pod without a node is changed, then gone", object: unbound, events: []string{"ADDED p", "MODIFIED p", "DELETED p"}, steps: []step{
		{verb: create}, {verb: remove},
	}},
	{name: "other kinds have no grace period", object: configMap, events: []string{"ADDED c", "DELETED c"}, steps: []step{
		{verb: create}, {verb: remove, body: "{gracePeriodSeconds: 30}"},
	}},
	{name: "a negative grace period is a second", object: pod, steps: []step{
		{verb: create},
		{verb: remove, body: "{gracePeriodSeconds: -1}", want: "{metadata.deletionGracePeriodSeconds: 1}"},
	}},
	{name: "the grace period of a pod is that of its spec", object: pod, steps: []step{
		{verb: create, body: "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: $namespace}, spec: {nodeName: n1, terminationGracePeriodSeconds: 7, containers: [{name: a, image: a1}]}}"},
		{verb: remove, want: "{metadata.deletionGracePeriodSeconds: 7}"},
		{verb: merge, sub: "status", body: "{status: {phase: Succeeded}}", want: "{metadata.deletionGracePeriodSeconds: 7}", versionChanged: yes},
		{verb: remove, versionChanged: no},
	}},
	{name: "preconditions of a deletion", object: configMap, steps: []step{
		{verb: create},
		{verb: remove, body: "{preconditions: {uid: other}}", reason: metav1.StatusReasonConflict},
		{verb: remove, body: "{preconditions: {resourceVersion: '1'}}", reason: metav1.StatusReasonConflict},
		{verb: get, versionChanged: no},
		{verb: remove, body: "{preconditions: {uid: $uid, resourceVersion: $version}}"},
		{verb: get, reason: metav1.StatusReasonNotFound},
	}},
	{name: "an object that is being deleted can be changed", object: deployment, steps: []step{
		{verb: create},
		{verb: merge, body: "{metadata: {finalizers: [example.com/a]}}"},
		{verb: remove},
		{verb: merge, body: "{spec: {replicas: 3}}", want: "{spec.replicas: 3, metadata.generation: 3}", versionChanged: yes},
		{verb: create, reason: metav1.StatusReasonAlreadyExists},
		{verb: update, body: "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: $namespace, finalizers: []}, spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a, image: a1}]}}}}"},
		{verb: get, reason: metav1.StatusReasonNotFound},
	}},
	{name: "finalizers of a custom kind", object: widget, steps: []step{
		{verb: create},
		{verb: json, body: "[{op: add, path: /metadata/finalizers, value: [example.com/a]}]", want: "{metadata.generation: 1}"},
		{verb: remove, want: "{metadata.generation: 2, metadata.deletionGracePeriodSeconds: 0}"},
		{verb: merge, sub: "status", body: "{metadata: {finalizers: null}, status: {phase: New}}", want: "{status.phase: New, metadata.finalizers: [example.com/a]}"},
		{verb: merge, body: "{metadata: {finalizers: []}}"},
		{verb: get, reason: metav1.StatusReasonNotFound},
	}},
	{name: "finalizers of a built-in kind can be removed through the status", object: node, steps: []step{
		{verb: create},
		{verb: merge, body: "{metadata: {finalizers: [example.com/a]}}"},
		{verb: remove},
		{verb: merge, sub: "status", body: "{metadata: {finalizers: null}, status: {phase: Running}}"},
		{verb: get, reason: metav1.StatusReasonNotFound},
	}},
}
