package ownership

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// An ownerKind says which children the objects of a kind have.
type ownerKind struct {
	levels            []level
	dependsOnChildren bool
	currentRevision   func(owner map[string]any) string     // nil: the newest
	dependentRevision func(dependent map[string]any) string // nil: dependents have no revision
}

type level struct {
	kind  schema.GroupVersionKind
	query func(owner *unstructured.Unstructured) (Query, bool)
}

var (
	pods           = level{schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, bySelector}
	replicaSets    = level{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}, bySelector}
	endpointSlices = level{schema.GroupVersionKind{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}, byServiceName}
	storageClasses = level{schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"}, byStorageClass}
)

const (
	deploymentRevision = "deployment.kubernetes.io/revision"
	selectedNode       = "volume.kubernetes.io/selected-node"
)

// kinds are the kinds that have children. The controllers of Kubernetes write the revisions.
var kinds = map[schema.GroupKind]ownerKind{
	{Group: "apps", Kind: "Deployment"}: {
		levels: []level{replicaSets, pods}, dependsOnChildren: true,
		currentRevision:   text("metadata", "annotations", deploymentRevision),
		dependentRevision: text("metadata", "annotations", deploymentRevision),
	},
	{Group: "apps", Kind: "StatefulSet"}: {
		levels: []level{pods}, dependsOnChildren: true,
		currentRevision:   text("status", "updateRevision"),
		dependentRevision: text("metadata", "labels", "controller-revision-hash"),
	},
	{Group: "apps", Kind: "DaemonSet"}: {
		levels: []level{pods}, dependsOnChildren: true,
		currentRevision:   text("metadata", "annotations", "deprecated.daemonset.template.generation"),
		dependentRevision: text("metadata", "labels", "pod-template-generation"),
	},
	{Group: "apps", Kind: "ReplicaSet"}: {levels: []level{pods}, dependsOnChildren: true},
	{Group: "batch", Kind: "Job"}:       {levels: []level{pods}, dependsOnChildren: true},
	{Kind: "Service"}:                   {levels: []level{endpointSlices}},
	{Kind: "PersistentVolumeClaim"}:     {levels: []level{storageClasses}, dependsOnChildren: true},
}

func text(path ...string) func(map[string]any) string {
	return func(fields map[string]any) string {
		s, _ := object.String(fields, path...)
		return s
	}
}

// bySelector finds the objects that spec.selector of the owner matches. It returns false if the
// selector is missing or invalid, because the query would then match everything.
func bySelector(owner *unstructured.Unstructured) (Query, bool) {
	fields, _ := object.Map(owner.Object, "spec", "selector")
	var selector metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &selector); err != nil {
		return Query{}, false
	}
	s, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil || s.Empty() {
		return Query{}, false
	}
	return Query{Namespace: owner.GetNamespace(), Selector: s.String()}, true
}

func byServiceName(service *unstructured.Unstructured) (Query, bool) {
	return Query{Namespace: service.GetNamespace(), Selector: "kubernetes.io/service-name=" + service.GetName()}, true
}

// byStorageClass finds the class of a claim for which no node is selected yet.
func byStorageClass(claim *unstructured.Unstructured) (Query, bool) {
	class, _ := object.String(claim.Object, "spec", "storageClassName")
	node, _ := object.String(claim.Object, "metadata", "annotations", selectedNode)
	return Query{Name: class}, class != "" && node == ""
}
