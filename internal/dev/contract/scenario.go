package contract

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// scenario is a story about one object. In all texts "$namespace" stands for the namespace of the story.
type scenario struct {
	name   string
	object string // YAML
	steps  []step
	events []string // what a watch of the kind in the namespace must have seen at the end, as "ADDED name"; nil: nobody watches
	label  string   // selector of that watch
}

// step is one call and what is true after it. In its body "$version" and "$uid" stand for those of the object before the step.
type step struct {
	verb           verb
	target         string              // name of the object; "" is the scenario's. What create creates is its body, if it has one
	sub            string              // subresource
	body           string              // YAML: the object, the patch, the DeleteOptions or the ListOptions
	force          bool                // of apply
	dry            bool                // a dry run
	manager        string              // field manager
	reason         metav1.StatusReason // of the error that is wanted; "" is success, [unknown] none
	want           string              // YAML of path: value in what is stored after the step; null: absent. Of list: names, and more
	versionChanged change              // whether resourceVersion changed
}

// unknown is the reason of an error that has none.
const noReason metav1.StatusReason = "Unknown"

type verb string

const (
	create    verb = "create"
	update    verb = "update"
	remove    verb = "delete"
	get       verb = "get"
	list      verb = "list"
	merge     verb = "merge"
	strategic verb = "strategic"
	json      verb = "json"
	apply     verb = "apply"
)

// change says whether something changed, if that matters.
type change int

const (
	eitherWay change = iota
	yes
	no
)

const (
	deployment = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: $namespace}, spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a, image: a1}]}}}}"
	pod        = "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: $namespace}, spec: {nodeName: n1, containers: [{name: a, image: a1}, {name: b, image: b1}]}}"
	unbound    = "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: $namespace}, spec: {containers: [{name: a, image: a1}]}}"
	configMap  = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: $namespace}, data: {a: '1'}}"
	node       = "{apiVersion: v1, kind: Node, metadata: {name: contract-node}}"
	widget     = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: $namespace}, spec: {size: 1}, status: {phase: Old}}"
	plain      = "{apiVersion: example.com/v1, kind: Plain, metadata: {name: w}, spec: {size: 1}, status: {phase: Old}}"
)
