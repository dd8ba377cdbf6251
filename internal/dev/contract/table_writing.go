package contract

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// writing is creation, replacement, versions and what may not be written.
var writing = []scenario{
	{name: "a new object gets its system fields", object: deployment, steps: []step{
		{verb: create, want: "{metadata.generation: 1, status: null, spec.replicas: 1}"},
		{verb: create, reason: metav1.StatusReasonAlreadyExists},
		{verb: get, versionChanged: no},
	}},
	{name: "a create with a resourceVersion is refused", object: configMap, steps: []step{
		{verb: create, body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: $namespace, resourceVersion: '1'}}", reason: noReason},
	}},
	{name: "a bad name is invalid", object: configMap, steps: []step{
		{verb: create, body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: C_1, namespace: $namespace}}", reason: metav1.StatusReasonInvalid},
	}},
	{name: "an unknown kind is not found", object: configMap, steps: []step{
		{verb: create, body: "{apiVersion: example.com/v1, kind: Nothing, metadata: {name: c, namespace: $namespace}}", reason: metav1.StatusReasonNotFound},
	}},
	{name: "what is not there is not found", object: configMap, steps: []step{
		{verb: get, reason: metav1.StatusReasonNotFound},
		{verb: merge, body: "{data: {a: '2'}}", reason: metav1.StatusReasonNotFound},
		{verb: update, reason: metav1.StatusReasonNotFound},
		{verb: remove, reason: metav1.StatusReasonNotFound},
	}},
	{name: "the generation counts changes of the spec only", object: deployment, steps: []step{
		{verb: create},
		{verb: merge, body: "{metadata: {labels: {a: b}}}", want: "{metadata.generation: 1}", versionChanged: yes},
		{verb: merge, body: "{spec: {replicas: 2}}", want: "{metadata.generation: 2}", versionChanged: yes},
		{verb: merge, sub: "status", body: "{status: {replicas: 2}}", want: "{metadata.generation: 2, status.replicas: 2}", versionChanged: yes},
		{verb: merge, body: "{metadata: {annotations: {a: b}}}", want: "{metadata.generation: 3}", versionChanged: yes},
		{verb: merge, body: "{metadata: {generation: 9}}", want: "{metadata.generation: 3}", versionChanged: no},
	}},
	{name: "a write that changes nothing keeps the version", object: configMap, steps: []step{
		{verb: create},
		{verb: merge, body: "{data: {a: '1'}}", versionChanged: no},
		{verb: json, body: "[{op: replace, path: /data/a, value: '1'}]", versionChanged: no},
		{verb: strategic, body: "{data: {b: null}}", versionChanged: no},
		{verb: update, versionChanged: no},
	}},
	{name: "a stale version is a conflict in every way of writing", object: configMap, steps: []step{
		{verb: create},
		{verb: merge, body: "{metadata: {resourceVersion: $version}, data: {a: '2'}}", want: "{data.a: '2'}"},
		{verb: merge, body: "{metadata: {resourceVersion: '1'}, data: {a: '3'}}", reason: metav1.StatusReasonConflict},
		{verb: strategic, body: "{metadata: {resourceVersion: '1'}, data: {a: '3'}}", reason: metav1.StatusReasonConflict},
		{verb: json, body: "[{op: replace, path: /metadata/resourceVersion, value: '1'}, {op: replace, path: /data/a, value: '3'}]", reason: metav1.StatusReasonConflict},
		{verb: update, body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: $namespace, resourceVersion: '1'}}", reason: metav1.StatusReasonConflict},
		{verb: get, want: "{data.a: '2'}", versionChanged: no},
	}},
	{name: "the uid cannot change", object: configMap, steps: []step{
		{verb: create},
		{verb: merge, body: "{metadata: {uid: other}}", reason: metav1.StatusReasonInvalid},
		{verb: update, body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: $namespace, uid: other}}", reason: metav1.StatusReasonConflict},
	}},
	{name: "the name cannot change", object: configMap, steps: []step{
		{verb: create},
		{verb: merge, body: "{metadata: {name: d}}", reason: metav1.StatusReasonBadRequest},
	}},
	{name: "an update without version replaces a built-in object", object: configMap, steps: []step{
		{verb: create},
		{verb: update, body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: $namespace}, data: {b: '2'}}", want: "{data.a: null, data.b: '2'}"},
	}},
	{name: "an update of a custom object needs a version", object: widget, steps: []step{
		{verb: create},
		{verb: update, body: widget, reason: metav1.StatusReasonInvalid},
	}},
	{name: "labels and finalizers must be text", object: configMap, steps: []step{
		{verb: create, body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: $namespace, labels: {a: 1}}}", reason: metav1.StatusReasonBadRequest},
		{verb: create},
		{verb: update, body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: $namespace, labels: {a: 1}}}", reason: metav1.StatusReasonBadRequest},
		{verb: merge, body: "{metadata: {finalizers: [1]}}", reason: metav1.StatusReasonInvalid},
		{verb: merge, body: "{metadata: {labels: {a: 1}}}", reason: metav1.StatusReasonInvalid},
		{verb: merge, body: "{metadata: 1}", reason: metav1.StatusReasonInvalid},
		{verb: json, body: "[{op: add, path: /metadata/labels, value: {a: 1}}]", reason: metav1.StatusReasonInvalid},
		{verb: strategic, body: "{metadata: {labels: {a: 1}}}", reason: metav1.StatusReasonInvalid},
		{verb: get, versionChanged: no},
	}},
	{name: "the metadata of custom kinds must be of the right types too", object: widget, steps: []step{
		{verb: create, body: "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: $namespace, labels: {a: 1}}}", reason: metav1.StatusReasonBadRequest},
		{verb: create},
		{verb: merge, body: "{metadata: {finalizers: [1]}}", reason: metav1.StatusReasonInvalid},
		{verb: json, body: "[{op: add, path: /metadata/labels, value: {a: 1}}]", reason: metav1.StatusReasonInvalid},
		{verb: get, versionChanged: no},
	}},
	{name: "the kind of an object cannot change", object: configMap, steps: []step{
		{verb: create},
		{verb: merge, body: "{kind: Secret, data: null}", reason: metav1.StatusReasonInvalid},
		{verb: merge, body: "{apiVersion: v2}", reason: metav1.StatusReasonInvalid},
		{verb: strategic, body: "{kind: Secret, apiVersion: v2}", want: "{kind: ConfigMap, apiVersion: v1}", versionChanged: no},
		{verb: json, body: "[{op: replace, path: /kind, value: Nothing}]", reason: metav1.StatusReasonInvalid},
		{verb: apply, manager: "one", body: "{apiVersion: v1, kind: Secret, metadata: {name: c}}", reason: metav1.StatusReasonBadRequest},
		{verb: apply, manager: "one", body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: d}}", reason: metav1.StatusReasonBadRequest},
		{verb: apply, manager: "one", body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: other}}", reason: metav1.StatusReasonBadRequest},
		{verb: merge, body: "{metadata: {namespace: other}}", reason: metav1.StatusReasonBadRequest},
		{verb: get, versionChanged: no},
	}},
	{name: "the kind of a custom object cannot change", object: widget, steps: []step{
		{verb: create},
		{verb: merge, body: "{kind: Other}", reason: metav1.StatusReasonInvalid},
		{verb: merge, body: "{apiVersion: example.com/v9}", reason: metav1.StatusReasonInvalid},
		{verb: merge, body: "{metadata: {name: other}}", reason: metav1.StatusReasonBadRequest},
		{verb: get, versionChanged: no},
	}},
	{name: "a dry run changes nothing", object: configMap, steps: []step{
		{verb: create, dry: true, want: "{data.a: '1'}"},
		{verb: get, reason: metav1.StatusReasonNotFound},
		{verb: create},
		{verb: create, dry: true, reason: metav1.StatusReasonAlreadyExists},
		{verb: merge, dry: true, body: "{data: {a: '2'}}", want: "{data.a: '1'}", versionChanged: no},
		{verb: remove, body: "{dryRun: [All]}"},
		{verb: get, want: "{data.a: '1', metadata.deletionTimestamp: null}", versionChanged: no},
	}},
	{name: "names are generated", object: configMap, steps: []step{
		{verb: create, body: "{apiVersion: v1, kind: ConfigMap, metadata: {generateName: c-, namespace: $namespace}}", want: "{metadata.generateName: c-}"},
		{verb: create, body: "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: $namespace}}", reason: metav1.StatusReasonInvalid},
	}},
	{name: "what the server sets cannot be written", object: configMap, steps: []step{
		{verb: create, body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: $namespace, uid: mine, creationTimestamp: '2001-01-01T00:00:00Z', deletionTimestamp: '2001-01-01T00:00:00Z', deletionGracePeriodSeconds: 9}}",
			want: "{metadata.deletionTimestamp: null, metadata.deletionGracePeriodSeconds: null}"},
		{verb: merge, body: "{metadata: {deletionTimestamp: '2001-01-01T00:00:00Z'}}", reason: metav1.StatusReasonInvalid},
		{verb: merge, body: "{metadata: {deletionGracePeriodSeconds: 9}}", reason: metav1.StatusReasonInvalid},
		{verb: merge, body: "{metadata: {creationTimestamp: '2001-01-01T00:00:00Z'}}", versionChanged: no},
	}},
	{name: "nulls and empty metadata are not kept", object: configMap, steps: []step{
		{verb: create, body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: $namespace, labels: {}, annotations: null, finalizers: []}, data: null}",
			want: "{metadata.labels: null, metadata.annotations: null, data: null}"},
		{verb: merge, body: "{metadata: {labels: {a: b}}}"},
		{verb: merge, body: "{metadata: {labels: {a: null}}}", want: "{metadata.labels: null}", versionChanged: yes},
	}},
	{name: "an update of the status needs no more than the status", object: deployment, steps: []step{
		{verb: create},
		{verb: update, sub: "status", body: "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: $namespace}, spec: {replicas: 9}, status: {replicas: 1}}", want: "{status.replicas: 1, spec.replicas: 1}"},
	}},
}
