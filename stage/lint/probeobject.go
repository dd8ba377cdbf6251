package lint

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// get follows the path to its first value.
func (p path) get(v any) (any, bool) {
	if len(p) == 0 {
		return v, v != nil
	}
	switch s, rest := p[0], p[1:]; {
	case s.field != "":
		m, _ := v.(map[string]any)
		return rest.get(m[s.field])
	case s.where != nil:
		if m, _ := v.(map[string]any); !s.matchesChoice(m) {
			return nil, false
		}
		return rest.get(v)
	default:
		list, _ := v.([]any)
		for i, item := range list {
			if s.each || s.index == i {
				if got, ok := rest.get(item); ok {
					return got, true
				}
			}
		}
		return nil, false
	}
}

func (s step) matchesChoice(m map[string]any) bool {
	for name, value := range s.where {
		if m[name] != value {
			return false
		}
	}
	return true
}

// set puts a value at the end of the path, making what is missing on the way. Of a list it takes the element that is chosen, or a new one.
func (p path) set(obj map[string]any, value any) { p.with(obj, value) }

// put returns v with the value at the end of the path.
func (p path) with(v, value any) any {
	if len(p) == 0 {
		return value
	}
	switch s, rest := p[0], p[1:]; {
	case s.field != "":
		m, ok := v.(map[string]any)
		if !ok {
			m = map[string]any{}
		}
		m[s.field] = rest.with(m[s.field], value)
		return m
	case s.where != nil:
		return rest.with(s.withChoice(v), value)
	default:
		list, _ := v.([]any)
		at := max(s.index, 0)
		if s.each && len(rest) > 0 && rest[0].where != nil {
			at = rest[0].indexOfChoice(list)
		}
		for len(list) <= at {
			list = append(list, nil)
		}
		list[at] = rest.with(list[at], value)
		return list
	}
}

// chosen returns v as an element that the choice takes.
func (s step) withChoice(v any) map[string]any {
	m, ok := v.(map[string]any)
	if !ok {
		m = map[string]any{}
	}
	for name, value := range s.where {
		m[name] = value
	}
	return m
}

// place is the index of the element that the choice takes, or of a new one.
func (s step) indexOfChoice(list []any) int {
	for i, item := range list {
		if m, ok := item.(map[string]any); ok && s.matchesChoice(m) {
			return i
		}
	}
	return len(list)
}

// remove takes away the last field of a path of fields, or the list that another path goes through.
func (p path) remove(obj map[string]any) {
	names := p.fields()
	for i, name := range names {
		if i == len(names)-1 {
			delete(obj, name)
			return
		}
		next, ok := obj[name].(map[string]any)
		if !ok {
			return
		}
		obj = next
	}
}

// fresh returns objects of a kind as users create them and the API server fills them in.
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
	celEqual = regexp.MustCompile(`^self((?:\.\w+|\["[^"]+"\])+)\s*(==|!=)\s*(?:"([^"]*)"|'([^']*)')$`)
	celHas   = regexp.MustCompile(`^(!?)\s*has\(\s*self((?:\.\w+)+)\s*\)$`)
)

// wishesOf reads requirements from a conjunction in CEL, as far as they have a simple form. They help to make probes, and prove nothing.
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
