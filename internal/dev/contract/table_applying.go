package contract

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// applying is server-side apply.
var applying = []scenario{
	{name: "apply creates and removes what it no longer names", object: configMap, steps: []step{
		{verb: apply, manager: "one", body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: '1', b: '2'}}", want: "{data.a: '1', data.b: '2'}"},
		{verb: apply, manager: "one", body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: '1', b: '2'}}", versionChanged: no},
		{verb: apply, manager: "one", body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: '1'}}", want: "{data.a: '1', data.b: null}"},
		{verb: merge, manager: "two", body: "{data: {c: '3'}}"},
		{verb: apply, manager: "one", body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {}}", want: "{data.a: null, data.c: '3'}"},
	}},
	{name: "apply conflicts with other managers unless forced", object: configMap, steps: []step{
		{verb: apply, manager: "one", body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: '1'}}"},
		{verb: apply, manager: "two", body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: '2'}}", reason: metav1.StatusReasonConflict},
		{verb: apply, manager: "two", body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: '1'}}", want: "{data.a: '1'}"},
		{verb: apply, manager: "two", force: true, body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: '2'}}", want: "{data.a: '2'}"},
		{verb: apply, manager: "one", body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {b: '3'}}", want: "{data.a: '2', data.b: '3'}"},
	}},
	{name: "apply merges lists by key", object: deployment, steps: []step{
		{verb: create, manager: "creator"},
		{verb: apply, manager: "one", body: applied("{name: c, image: c1}"), want: containers("{name: a, image: a1}, {name: c, image: c1}")},
		{verb: apply, manager: "one", body: applied(""), want: containers("{name: a, image: a1}")},
	}},
	{name: "apply leaves an element in which another manager has a field", object: deployment, steps: []step{
		{verb: apply, manager: "one", body: applied("{name: a, image: a1}, {name: b, image: b1, stdin: true}")},
		{verb: apply, manager: "two", body: applied("{name: b, image: b1}")},
		{verb: apply, manager: "one", body: applied("{name: a, image: a1}"), want: containers("{name: a, image: a1}, {name: b, image: b1, stdin: null}")},
		{verb: apply, manager: "two", body: applied(""), want: containers("{name: a, image: a1}")},
	}},
	{name: "a write takes fields from those who applied them", object: configMap, steps: []step{
		{verb: apply, manager: "one", body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: '1', b: '2'}}"},
		{verb: merge, manager: "two", body: "{data: {a: '9'}}"},
		{verb: apply, manager: "one", body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: '1', b: '2'}}", reason: metav1.StatusReasonConflict},
		{verb: apply, manager: "one", body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {b: '2'}}", want: "{data.a: '9', data.b: '2'}"},
	}},
	{name: "apply to a custom kind", object: widget, steps: []step{
		{verb: apply, manager: "one", body: "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {size: 1, list: [1, 2]}, status: {phase: New}}", want: "{spec.list: [1, 2], status: null, metadata.generation: 1}"},
		{verb: apply, manager: "one", body: "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {size: 1, list: [3]}}", want: "{spec.list: [3], metadata.generation: 2}"},
		{verb: apply, manager: "two", body: "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {list: [4]}}", reason: metav1.StatusReasonConflict},
		{verb: apply, manager: "two", sub: "status", body: "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, labels: {a: b}}, spec: {size: 7}, status: {phase: New}}", want: "{spec.size: 1, status.phase: New, metadata.labels: null, metadata.generation: 2}"},
	}},
	{name: "apply of the status of what is not there", object: node, steps: []step{
		{verb: apply, sub: "status", manager: "kubelet", body: "{apiVersion: v1, kind: Node, metadata: {name: contract-node}, status: {phase: Running}}", reason: metav1.StatusReasonNotFound},
	}},
	{name: "apply to the status leaves the rest alone", object: node, steps: []step{
		{verb: create},
		{verb: apply, sub: "status", manager: "kubelet", body: "{apiVersion: v1, kind: Node, metadata: {name: contract-node}, spec: {unschedulable: true}, status: {conditions: [{type: Ready, status: 'True'}]}}", want: "{spec.unschedulable: null, status.conditions: [{type: Ready, status: 'True'}]}"},
		{verb: apply, sub: "status", manager: "kubelet", body: "{apiVersion: v1, kind: Node, metadata: {name: contract-node}, status: {phase: Ready}}", want: "{status.conditions: null, status.phase: Ready}"},
	}},
	{name: "apply of a stale version is a conflict", object: configMap, steps: []step{
		{verb: create},
		{verb: apply, manager: "one", force: true, body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, resourceVersion: '1'}, data: {a: '2'}}", reason: metav1.StatusReasonConflict},
	}},
	{name: "apply needs a manager", object: configMap, steps: []step{
		{verb: apply, body: configMap, reason: metav1.StatusReasonInvalid},
	}},
}

// applied is a configuration of the Deployment with these containers.
func applied(list string) string {
	return "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [" + list + "]}}}}"
}

func containers(list string) string { return "{spec.template.spec.containers: [" + list + "]}" }
