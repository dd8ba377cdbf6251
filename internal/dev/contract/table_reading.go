package contract

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	labelled  = "{apiVersion: v1, kind: ConfigMap, metadata: {name: d, namespace: $namespace, labels: {app: web, tier: front}}}"
	labelled2 = "{apiVersion: v1, kind: ConfigMap, metadata: {name: e, namespace: $namespace, labels: {app: web}}}"
	running   = "{apiVersion: v1, kind: Pod, metadata: {name: q, namespace: $namespace}, spec: {containers: [{name: a, image: a1}]}}"
)

// reading is lists, selectors, pages and watches.
var reading = []scenario{
	{name: "lists are in the order of names", object: configMap, steps: []step{
		{verb: list, want: "{names: []}"},
		{verb: create, body: labelled2},
		{verb: create},
		{verb: create, body: labelled},
		{verb: list, want: "{names: [c, d, e], pages: 1}"},
		{verb: list, body: "{limit: 2}", want: "{names: [c, d, e], pages: 2}"},
		{verb: list, body: "{limit: 3}", want: "{names: [c, d, e], pages: 1}"},
	}},
	{name: "label selectors", object: configMap, steps: []step{
		{verb: create}, {verb: create, body: labelled}, {verb: create, body: labelled2},
		{verb: list, body: "{labelSelector: app=web}", want: "{names: [d, e]}"},
		{verb: list, body: "{labelSelector: 'app=web,!tier'}", want: "{names: [e]}"},
		{verb: list, body: "{labelSelector: 'tier in (front, back)'}", want: "{names: [d]}"},
		{verb: list, body: "{labelSelector: 'app notin (web)'}", want: "{names: [c]}"},
		{verb: list, body: "{labelSelector: app!=web}", want: "{names: [c]}"},
		{verb: list, body: "{labelSelector: '=='}", reason: metav1.StatusReasonBadRequest},
	}},
	{name: "field selectors", object: pod, steps: []step{
		{verb: create}, {verb: create, body: running},
		{verb: merge, target: "q", sub: "status", body: "{status: {phase: Running, podIP: 10.1.2.3, podIPs: [{ip: 10.1.2.3}]}}"},
		{verb: list, body: "{fieldSelector: spec.nodeName=n1}", want: "{names: [p]}"},
		{verb: list, body: "{fieldSelector: spec.nodeName=}", want: "{names: [q]}"},
		{verb: list, body: "{fieldSelector: status.phase!=Pending}", want: "{names: [q]}"},
		{verb: list, body: "{fieldSelector: 'status.podIP=10.1.2.3,metadata.name=q'}", want: "{names: [q]}"},
		{verb: list, body: "{fieldSelector: 'metadata.name=p,status.phase=Running'}", want: "{names: []}"},
		{verb: list, body: "{fieldSelector: metadata.namespace=$namespace}", want: "{names: [p, q]}"},
		{verb: list, body: "{fieldSelector: spec.nonsense=1}", reason: metav1.StatusReasonBadRequest},
	}},
	{name: "custom kinds have the field selectors of metadata", object: widget, steps: []step{
		{verb: create},
		{verb: list, body: "{fieldSelector: metadata.name=w}", want: "{names: [w]}"},
		{verb: list, body: "{fieldSelector: metadata.name=v}", want: "{names: []}"},
		{verb: list, body: "{fieldSelector: spec.size=1}", reason: metav1.StatusReasonBadRequest},
	}},
	{name: "a watch tells of every change", object: configMap, events: []string{"ADDED c", "MODIFIED c", "ADDED d", "DELETED c"}, steps: []step{
		{verb: create},
		{verb: merge, body: "{data: {a: '2'}}"},
		{verb: merge, body: "{data: {a: '2'}}", versionChanged: no},
		{verb: merge, body: "{data: {a: '3'}}", dry: true, versionChanged: no},
		{verb: create, body: labelled},
		{verb: remove},
	}},
	{name: "an object that begins or ceases to match is added or deleted", object: configMap, label: "app=web",
		events: []string{"ADDED d", "ADDED c", "MODIFIED c", "DELETED c", "DELETED d"}, steps: []step{
			{verb: create},
			{verb: create, body: labelled},
			{verb: merge, body: "{metadata: {labels: {app: web}}}"},
			{verb: merge, body: "{data: {a: '2'}}"},
			{verb: merge, body: "{metadata: {labels: {app: other}}}"},
			{verb: remove, target: "d"},
		}},
	{name: "the end of a graceful deletion is a change and an end", object: pod, events: []string{"ADDED p", "MODIFIED p", "MODIFIED p", "DELETED p"}, steps: []step{
		{verb: create},
		{verb: remove},
		{verb: remove, body: "{gracePeriodSeconds: 0}"},
	}},
	{name: "finalizers end in one change", object: configMap, events: []string{"ADDED c", "MODIFIED c", "MODIFIED c", "DELETED c"}, steps: []step{
		{verb: create},
		{verb: merge, body: "{metadata: {finalizers: [example.com/a]}}"},
		{verb: remove, want: "{metadata.deletionGracePeriodSeconds: 0}"},
		{verb: merge, body: "{metadata: {finalizers: null}}"},
	}},
}
