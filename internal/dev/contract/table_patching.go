package contract

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// patching is what the patch types do.
var patching = []scenario{
	{name: "strategic merge knows the merge keys", object: pod, steps: []step{
		{verb: create},
		{verb: strategic, body: "{spec: {containers: [{name: b, image: b2}]}}", want: "{spec.containers: [{name: a, image: a1}, {name: b, image: b2}]}"},
		{verb: strategic, sub: "status", body: "{status: {conditions: [{type: Ready, status: 'False'}]}}", want: "{status.conditions: [{type: Ready, status: 'False'}]}"},
		{verb: strategic, sub: "status", body: "{status: {conditions: [{type: Ready, status: 'True'}]}}", want: "{status.conditions: [{type: Ready, status: 'True'}]}"},
	}},
	{name: "strategic merge is not for custom kinds", object: widget, steps: []step{
		{verb: create},
		{verb: strategic, body: "{spec: {size: 2}}", reason: metav1.StatusReasonUnsupportedMediaType},
	}},
	{name: "a JSON patch that does not apply changes nothing", object: configMap, steps: []step{
		{verb: create},
		{verb: json, body: "[{op: replace, path: /data/a, value: '2'}, {op: test, path: /data/a, value: x}]", reason: metav1.StatusReasonInvalid},
		{verb: get, want: "{data.a: '1'}", versionChanged: no},
	}},
	{name: "a body of the wrong shape is refused", object: configMap, steps: []step{
		{verb: create},
		{verb: merge, body: "[1]", reason: metav1.StatusReasonBadRequest},
		{verb: strategic, body: "[1]", reason: metav1.StatusReasonBadRequest},
		{verb: json, body: "{a: 1}", reason: metav1.StatusReasonBadRequest},
		{verb: get, versionChanged: no},
	}},
	{name: "JSON patches", object: configMap, steps: []step{
		{verb: create},
		{verb: json, body: "[{op: add, path: /metadata/annotations, value: {b/c: '1'}}, {op: replace, path: /metadata/annotations/b~1c, value: '2'}, {op: test, path: /data/a, value: '1'}, {op: copy, from: /data/a, path: /data/d}]", want: "{data: {a: '1', d: '1'}, metadata.annotations: {b/c: '2'}}"},
		{verb: json, body: "[{op: move, from: /data/d, path: /data/e}, {op: remove, path: /data/a}]", want: "{data.a: null, data.d: null, data.e: '1'}"},
		{verb: json, body: "[{op: remove, path: /data/none}]", reason: metav1.StatusReasonInvalid},
		{verb: json, body: "[{op: replace, path: /data/none, value: x}]", want: "{data.none: x}"},
		{verb: json, body: "[{op: replace, path: '', value: 1}]", reason: metav1.StatusReasonInvalid},
		{verb: json, body: "[]", versionChanged: no},
	}},
	{name: "strategic merge removes and replaces by directives", object: deployment, steps: []step{
		{verb: create},
		{verb: strategic, body: "{spec: {template: {spec: {containers: [{name: b, image: b1}]}}}}", want: containers("{name: b, image: b1}, {name: a, image: a1}")},
		{verb: strategic, body: "{spec: {template: {spec: {containers: [{name: b, $patch: delete}]}}}}", want: containers("{name: a, image: a1}")},
		{verb: strategic, body: "{spec: {template: {spec: {containers: [{$patch: replace}, {name: c, image: c1}]}}}}", want: containers("{name: c, image: c1}")},
		{verb: strategic, body: "{metadata: {labels: {x: v}}}", want: "{metadata.labels.x: v, metadata.generation: 4}"},
		{verb: strategic, body: "{metadata: {labels: {x: null}}}", want: "{metadata.labels: null}"},
		{verb: strategic, body: "{metadata: {finalizers: [example.com/a]}}"},
		{verb: strategic, body: "{metadata: {finalizers: [example.com/b]}}", want: "{metadata.finalizers: [example.com/b, example.com/a]}"},
		{verb: strategic, body: "{metadata: {$deleteFromPrimitiveList/finalizers: [example.com/a]}}", want: "{metadata.finalizers: [example.com/b]}"},
		{verb: merge, body: "{metadata: {finalizers: null}}"},
	}},
	{name: "a merge patch replaces lists and removes nulls", object: widget, steps: []step{
		{verb: create},
		{verb: merge, body: "{spec: {list: [{a: 1}, {b: 2}], map: {x: 1, z: 2}}}", want: "{spec.list: [{a: 1}, {b: 2}]}"},
		{verb: merge, body: "{spec: {list: [{c: 3}], map: {x: null}}}", want: "{spec.list: [{c: 3}], spec.map: {x: null, z: 2}, metadata.generation: 3}"},
		{verb: merge, body: "{spec: {size: 2.5}}", want: "{spec.size: 2.5}"},
		{verb: merge, body: "{spec: {size: 9007199254740993}}", want: "{spec.size: 9007199254740993}"},
	}},
	{name: "an unknown subresource is not found", object: configMap, steps: []step{
		{verb: create},
		{verb: merge, sub: "status", body: "{status: {}}", reason: metav1.StatusReasonNotFound},
		{verb: merge, sub: "nothing", body: "{data: {a: '2'}}", reason: metav1.StatusReasonNotFound},
	}},
}
