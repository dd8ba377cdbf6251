package ownership

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// A line is what there is to know of the kin of a kind.
type line struct {
	levels   []level
	decide   bool
	wants    func(parent map[string]any) string
	revision func(child map[string]any) string
}

type level struct {
	kind  schema.GroupVersionKind
	where func(parent *unstructured.Unstructured) (Place, bool)
}

var (
	pods           = level{schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, selected}
	replicaSets    = level{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}, selected}
	endpointSlices = level{schema.GroupVersionKind{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}, served}
	storageClasses = level{schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"}, provisioned}
)

const (
	deploymentRevision = "deployment.kubernetes.io/revision"
	selectedNode       = "volume.kubernetes.io/selected-node"
)

// lines are the lines of all kinds that have kin. The revisions are those that the controllers of Kubernetes write.
var lines = map[schema.GroupKind]line{
	{Group: "apps", Kind: "Deployment"}: {
		levels: []level{replicaSets, pods}, decide: true,
		wants:    text("metadata", "annotations", deploymentRevision),
		revision: text("metadata", "annotations", deploymentRevision),
	},
	{Group: "apps", Kind: "StatefulSet"}: {
		levels: []level{pods}, decide: true,
		wants:    text("status", "updateRevision"),
		revision: text("metadata", "labels", "controller-revision-hash"),
	},
	{Group: "apps", Kind: "DaemonSet"}: {
		levels: []level{pods}, decide: true,
		wants:    text("metadata", "annotations", "deprecated.daemonset.template.generation"),
		revision: text("metadata", "labels", "pod-template-generation"),
	},
	{Group: "apps", Kind: "ReplicaSet"}: {levels: []level{pods}, decide: true},
	{Group: "batch", Kind: "Job"}:       {levels: []level{pods}, decide: true},
	{Kind: "Service"}:                   {levels: []level{endpointSlices}},
	{Kind: "PersistentVolumeClaim"}:     {levels: []level{storageClasses}, decide: true},
}

func text(path ...string) func(map[string]any) string {
	return func(fields map[string]any) string {
		s, _ := object.String(fields, path...)
		return s
	}
}

// selected is the place of what the parent's selector matches; nowhere if it has none that can be read, as it would match everything.
func selected(parent *unstructured.Unstructured) (Place, bool) {
	fields, _ := object.Map(parent.Object, "spec", "selector")
	var selector metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &selector); err != nil {
		return Place{}, false
	}
	s, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil || s.Empty() {
		return Place{}, false
	}
	return Place{Namespace: parent.GetNamespace(), Selector: s.String()}, true
}

func served(service *unstructured.Unstructured) (Place, bool) {
	return Place{Namespace: service.GetNamespace(), Selector: "kubernetes.io/service-name=" + service.GetName()}, true
}

// provisioned is the class of a claim for which no node was chosen yet.
func provisioned(claim *unstructured.Unstructured) (Place, bool) {
	class, _ := object.String(claim.Object, "spec", "storageClassName")
	node, _ := object.String(claim.Object, "metadata", "annotations", selectedNode)
	return Place{Name: class}, class != "" && node == ""
}
