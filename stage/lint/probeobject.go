package lint

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// newObjects returns objects of a kind as users create them, with the defaults of the API server.
func newObjects(kind schema.GroupVersionKind) []*unstructured.Unstructured {
	metadata := func() map[string]any {
		return map[string]any{"name": "probe", "namespace": "default", "uid": "probe", "generation": int64(1), "creationTimestamp": "2006-01-02T15:00:00Z"}
	}
	object := func(spec, status map[string]any) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"metadata": metadata(), "spec": spec}}
		if o.SetGroupVersionKind(kind); status != nil {
			o.Object["status"] = status
		}
		return o
	}
	if kind.Group != "" {
		return []*unstructured.Unstructured{object(map[string]any{}, nil)}
	}
	switch kind.Kind {
	case "Pod":
		job := object(podSpec("Never"), newPodStatus())
		path{{field: "spec"}, {field: "initContainers"}}.set(job.Object, containers("init"))
		path{{field: "metadata"}, {field: "ownerReferences"}}.set(job.Object, ownerReferences("batch/v1", "Job"))
		return []*unstructured.Unstructured{object(podSpec("Always"), newPodStatus()), job}
	case "PersistentVolumeClaim", "PersistentVolume":
		spec := map[string]any{"storageClassName": "standard", "accessModes": []any{"ReadWriteOnce"}}
		return []*unstructured.Unstructured{object(spec, map[string]any{"phase": "Pending"})}
	}
	return []*unstructured.Unstructured{object(map[string]any{}, nil)}
}

func newPodStatus() map[string]any {
	return map[string]any{"phase": "Pending", "qosClass": "BestEffort"}
}

func ownerReferences(apiVersion, kind string) []any {
	return []any{map[string]any{"apiVersion": apiVersion, "kind": kind, "name": "owner", "uid": "owner", "controller": true}}
}

func podSpec(restart string) map[string]any {
	return map[string]any{
		"nodeName": "node-a", "restartPolicy": restart, "priority": int64(0),
		"terminationGracePeriodSeconds": int64(30), "activeDeadlineSeconds": int64(600), "serviceAccountName": "default", "schedulerName": "default-scheduler", "dnsPolicy": "ClusterFirst", "containers": containers("main"),
	}
}

func containers(name string) []any {
	return []any{map[string]any{"name": name, "image": "registry.example.com/image:v1"}}
}

// The forms of CEL that probes are made for, between &&.
var (
	// celEqual and celHas are the forms of CEL that probes are made for, joined by &&.
	celEqual = regexp.MustCompile(`^self((?:\.\w+|\["[^"]+"\])+)\s*(==|!=)\s*(?:"([^"]*)"|'([^']*)')$`)
	celHas   = regexp.MustCompile(`^(!?)\s*has\(\s*self((?:\.\w+)+)\s*\)$`)
)

// celRequirements reads requirements from a conjunction in CEL if it has a simple form. They help
// to make probes; no rule concludes anything from them.
func celRequirements(text string) []requirement {
	var list []requirement
	add := func(source string, operator v1alpha1.SelectorOperator, values ...string) {
		if p, ok := parsePath(source); ok {
			list = append(list, requirement{path: p, operator: operator, values: values})
		}
	}
	for part := range strings.SplitSeq(text, "&&") {
		part = strings.TrimSpace(part)
		if m := celEqual.FindStringSubmatch(part); m != nil && m[2] == "==" {
			add(m[1], v1alpha1.SelectorOpIn, m[3]+m[4])
		} else if m != nil {
			add(m[1], v1alpha1.SelectorOpNotIn, m[3]+m[4])
		}
		if m := celHas.FindStringSubmatch(part); m != nil && m[1] == "" {
			add(m[2], v1alpha1.SelectorOpExists)
		} else if m != nil {
			add(m[2], v1alpha1.SelectorOpDoesNotExist)
		}
	}
	return list
}
