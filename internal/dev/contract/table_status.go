package contract

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// status is what the subresource keeps apart.
var status = []scenario{
	{name: "status and spec are written apart", object: deployment, steps: []step{
		{verb: create},
		{verb: merge, body: "{status: {replicas: 1}}", want: "{status: null}", versionChanged: no},
		{verb: merge, sub: "status", body: "{spec: {replicas: 7}, status: {replicas: 1}}", want: "{status.replicas: 1, spec.replicas: 1}", versionChanged: yes},
		{verb: update, want: "{status.replicas: 1}", versionChanged: no},
	}},
	{name: "a status write to a built-in kind may annotate", object: node, steps: []step{
		{verb: create},
		{verb: merge, sub: "status", body: "{metadata: {annotations: {a: b}, labels: {l: m}}}", want: "{metadata.annotations.a: b, metadata.labels.l: m}"},
	}},
	{name: "a status write to a custom kind changes no metadata", object: widget, steps: []step{
		{verb: create, want: "{status: null, metadata.generation: 1}"},
		{verb: merge, sub: "status", body: "{metadata: {annotations: {a: b}}, spec: {size: 2}, status: {phase: New}}", want: "{metadata.annotations: null, spec.size: 1, status.phase: New, metadata.generation: 1}"},
		{verb: merge, body: "{spec: {size: 2}, status: {phase: Old}}", want: "{spec.size: 2, status.phase: New, metadata.generation: 2}"},
	}},
	{name: "without the subresource status is a field like others", object: plain, steps: []step{
		{verb: create, want: "{status.phase: Old, metadata.generation: 1}"},
		{verb: merge, body: "{status: {phase: New}}", want: "{status.phase: New, metadata.generation: 2}"},
		{verb: merge, sub: "status", body: "{status: {phase: New}}", reason: metav1.StatusReasonNotFound},
	}},
}
