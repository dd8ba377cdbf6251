package defaults

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/builtin"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// creations are what the server does with new objects in addition to filling in defaults: the
// strategies of its registry, and the admission plugins that are on by default and add to objects.
var creations = map[schema.GroupResource][]func(*memory.Review) error{
	pods:                                       {priority, tolerations, qualityOfService, gates},
	{Resource: "services"}:                     {clusterIPs},
	{Resource: "nodes"}:                        {notReady},
	{Resource: "namespaces"}:                   {namespaceFinalizer},
	{Resource: "persistentvolumeclaims"}:       {defaultStorageClass},
	{Group: networking, Resource: "ingresses"}: {defaultIngressClass},
	{Resource: "persistentvolumes"}:            {phaseTime},
	daemonSets:                                 {templateGeneration},
	{Group: "batch", Resource: "jobs"}:         {jobSelector},
}

// changes are the same for objects that are stored already.
var changes = map[schema.GroupResource][]func(*memory.Review) error{
	pods:                   {podUpdate},
	{Resource: "services"}: {serviceOfType, clusterIPs},
	daemonSets:             {templateGeneration},
}

const (
	networking = "networking.k8s.io"
	scheduling = "scheduling.k8s.io"
)

var (
	daemonSets = schema.GroupResource{Group: "apps", Resource: "daemonsets"}
	pods       = schema.GroupResource{Resource: "pods"}
)

// strategies does them. It is a memory.Hooks.Admit.
func strategies(v *memory.Review) error {
	list := creations[v.Resource]
	if v.Old != nil {
		list = changes[v.Resource]
	}
	if v.Subresource != "" {
		return nil
	}
	for _, do := range list {
		if err := do(v); err != nil {
			return err
		}
	}
	return nil
}

// set sets a field of a part of an object, which is copied.
func set(v *memory.Review, part, field string, value any) {
	old, _ := v.New.Object[part].(map[string]any)
	next := maps.Clone(old)
	if next == nil {
		next = map[string]any{}
	}
	next[field] = value
	v.New.Object[part] = next
}

func spec(v *memory.Review) map[string]any {
	m, _ := object.Map(v.New.Object, "spec")
	return m
}

// setMissing sets a field in a part of an object, if the part does not have it.
func setMissing(v *memory.Review, part, field string, value any) {
	if m, _ := v.New.Object[part].(map[string]any); m[field] == nil {
		set(v, part, field, value)
	}
}

var (
	priorityClass = schema.GroupVersionKind{Group: scheduling, Version: "v1", Kind: "PriorityClass"}
	service       = schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	// systemPriorities are the classes that every cluster has.
	systemPriorities = map[string]int64{"system-node-critical": 2000001000, "system-cluster-critical": 2000000000}
)

// priority does what the admission plugin Priority does. A Pod with a class that does not exist is
// refused.
func priority(v *memory.Review) error {
	name, _ := object.String(v.New.Object, "spec", "priorityClassName")
	value, policy := int64(0), "PreemptLowerPriority"
	class := classOf(v, name)
	switch system, isSystem := systemPriorities[name]; {
	case class != nil:
		name, _ = object.String(class, "metadata", "name")
		set(v, "spec", "priorityClassName", name)
		value, _ = object.Int64(class, "value")
		if p, _ := object.String(class, "preemptionPolicy"); p != "" {
			policy = p
		}
	case isSystem:
		value = system
	case name != "":
		return apierrors.NewForbidden(v.Resource, v.Name.Name, fmt.Errorf("no PriorityClass with name %s was found", name))
	}
	given, said := object.Int64(v.New.Object, "spec", "priority")
	if said && given != value {
		return apierrors.NewForbidden(v.Resource, v.Name.Name, fmt.Errorf("the integer value of priority (%d) must not be provided in pod spec; priority admission controller computed %d from the given PriorityClass name", given, value))
	}
	set(v, "spec", "priority", value)
	setMissing(v, "spec", "preemptionPolicy", policy)
	return nil
}

// classOf returns the class with the given name. For "" it returns the default class with the
// smallest value, or nil without one.
func classOf(v *memory.Review, name string) (found map[string]any) {
	smallest := int64(0)
	for _, class := range v.List(priorityClass, "") {
		isDefault, _ := object.Bool(class.Object, "globalDefault")
		value, _ := object.Int64(class.Object, "value")
		switch {
		case name != "" && class.GetName() == name:
			return class.Object
		case name == "" && isDefault && (found == nil || value < smallest):
			found, smallest = class.Object, value
		}
	}
	return found
}

// tolerations does what the admission plugin DefaultTolerationSeconds does.
func tolerations(v *memory.Review) error {
	list, _ := object.Slice(v.New.Object, "spec", "tolerations")
	next := slices.Clone(list)
	for _, key := range []string{"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"} {
		tolerates := func(t any) bool {
			m, _ := t.(map[string]any)
			return (m["key"] == key || empty(m["key"])) && (m["effect"] == "NoExecute" || empty(m["effect"]))
		}
		if !slices.ContainsFunc(list, tolerates) {
			next = append(next, map[string]any{"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": int64(300)})
		}
	}
	if len(next) > len(list) {
		set(v, "spec", "tolerations", next)
	}
	return nil
}

func empty(v any) bool { return v == nil || v == "" }

// gates says of a Pod with scheduling gates that it is not to be scheduled.
func gates(v *memory.Review) error {
	if list, _ := object.Slice(v.New.Object, "spec", "schedulingGates"); len(list) > 0 {
		set(v, "status", "conditions", []any{map[string]any{
			"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": "Scheduling is blocked due to non-empty scheduling gates",
			"lastTransitionTime": v.Time.UTC().Format(time.RFC3339),
		}})
	}
	return nil
}

// notReady does what the admission plugin TaintNodesByCondition does.
func notReady(v *memory.Review) error {
	taint := map[string]any{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
	list, _ := object.Slice(v.New.Object, "spec", "taints")
	has := func(t any) bool {
		m, _ := t.(map[string]any)
		return m["key"] == taint["key"] && m["effect"] == taint["effect"]
	}
	if !slices.ContainsFunc(list, has) {
		set(v, "spec", "taints", append(slices.Clone(list), taint))
	}
	return nil
}

var (
	storageClass = schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"}
	ingressClass = schema.GroupVersionKind{Group: networking, Version: "v1", Kind: "IngressClass"}
)

// defaultStorageClass does what the admission plugin DefaultStorageClass does.
func defaultStorageClass(v *memory.Review) error {
	if class := defaultClass(v, storageClass, "storageclass.kubernetes.io/is-default-class"); class != "" && spec(v)["storageClassName"] == nil {
		set(v, "spec", "storageClassName", class)
	}
	return nil
}

// defaultIngressClass does what the admission plugin DefaultIngressClass does.
func defaultIngressClass(v *memory.Review) error {
	_, old := v.New.GetAnnotations()["kubernetes.io/ingress.class"]
	if class := defaultClass(v, ingressClass, "ingressclass.kubernetes.io/is-default-class"); class != "" && !old && spec(v)["ingressClassName"] == nil {
		set(v, "spec", "ingressClassName", class)
	}
	return nil
}

// defaultClass returns the newest class with an annotation, of several the first by name.
func defaultClass(v *memory.Review, kind schema.GroupVersionKind, annotation string) string {
	var newest *unstructured.Unstructured
	for _, class := range v.List(kind, "") {
		if class.GetAnnotations()[annotation] != "true" {
			continue
		}
		if newest == nil || class.GetCreationTimestamp().After(newest.GetCreationTimestamp().Time) {
			newest = class
		}
	}
	if newest == nil {
		return ""
	}
	return newest.GetName()
}

func namespaceFinalizer(v *memory.Review) error {
	list, _ := object.Slice(v.New.Object, "spec", "finalizers")
	if !slices.Contains(list, any("kubernetes")) {
		set(v, "spec", "finalizers", append(slices.Clone(list), "kubernetes"))
	}
	return nil
}

func phaseTime(v *memory.Review) error {
	set(v, "status", "lastPhaseTransitionTime", v.Time.UTC().Format(time.RFC3339))
	return nil
}

// templateGenerationKey is an annotation in v1. Inside kube-apiserver it is a field of a DaemonSet.
const templateGenerationKey = "deprecated.daemonset.template.generation"

// countsTemplates adds the annotation. Who sends a DaemonSet owns it, as it has been through that form.
func countsTemplates(v *memory.Review) {
	if v.New.GetAnnotations()[templateGenerationKey] == "" {
		annotate(v, templateGenerationKey, "0")
	}
}

func annotate(v *memory.Review, key, value string) {
	old, _ := object.Map(v.New.Object, "metadata", "annotations")
	annotations := maps.Clone(old)
	if annotations == nil {
		annotations = map[string]any{}
	}
	annotations[key] = value
	set(v, "metadata", "annotations", annotations)
}

// templateGeneration counts the templates that a DaemonSet has had.
func templateGeneration(v *memory.Review) error {
	n := int64(1)
	if v.Old != nil {
		n, _ = strconv.ParseInt(v.Old.GetAnnotations()[templateGenerationKey], 10, 64)
		before, _ := object.Map(v.Old.Object, "spec", "template")
		now, _ := object.Map(v.New.Object, "spec", "template")
		if !object.DeepEqual(before, now) {
			n++
		}
	}
	if text := strconv.FormatInt(n, 10); v.New.GetAnnotations()[templateGenerationKey] != text {
		annotate(v, templateGenerationKey, text)
	}
	return nil
}

// jobSelector gives the Pods of a Job labels of their own, and the Job a selector for them.
func jobSelector(v *memory.Review) error {
	if manual, _ := object.Bool(v.New.Object, "spec", "manualSelector"); manual {
		return nil
	}
	uid, name := string(v.New.GetUID()), v.New.GetName()
	const uidLabel, nameLabel = "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"
	own := map[string]any{uidLabel: uid, "controller-uid": uid, nameLabel: name, "job-name": name}
	template, _ := object.Map(v.New.Object, "spec", "template")
	metadata, _ := object.Map(template, "metadata")
	labels, _ := object.Map(metadata, "labels")
	template, metadata = cloned(template), cloned(metadata)
	metadata["labels"] = merged(labels, own)
	if given, _ := object.Map(v.New.Object, "metadata", "labels"); len(given) == 0 || builtin.Same(given, labels) {
		set(v, "metadata", "labels", metadata["labels"]) // defaults, which come from the template, are filled in again when the object is read
	}
	template["metadata"] = metadata
	set(v, "spec", "template", template)
	selector, _ := object.Map(v.New.Object, "spec", "selector")
	match, _ := object.Map(selector, "matchLabels")
	selector = cloned(selector)
	selector["matchLabels"] = merged(match, map[string]any{uidLabel: uid})
	set(v, "spec", "selector", selector)
	return nil
}

func cloned(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return maps.Clone(m)
}

func merged(m, more map[string]any) map[string]any {
	m = cloned(m)
	maps.Copy(m, more)
	return m
}
