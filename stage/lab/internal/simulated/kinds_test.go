// Package simulated_test tests package stage/simulation together with controllers of the lab.
package simulated_test

import "k8s.io/apimachinery/pkg/runtime/schema"

var pods = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

const web = `{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: i}]}}`
