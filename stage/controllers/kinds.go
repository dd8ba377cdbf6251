package controllers

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var (
	pods                   = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	nodes                  = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	services               = schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	endpoints              = schema.GroupVersionKind{Version: "v1", Kind: "Endpoints"}
	namespaces             = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	volumes                = schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolume"}
	volumeClaims           = schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}
	replicationControllers = schema.GroupVersionKind{Version: "v1", Kind: "ReplicationController"}
	deployments            = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	replicaSets            = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}
	statefulSets           = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
	daemonSets             = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "DaemonSet"}
	controllerRevisions    = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ControllerRevision"}
	jobs                   = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	cronJobs               = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"}
	storageClasses         = schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"}
	endpointSlices         = schema.GroupVersionKind{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}
)

// newObject returns an object that has a kind and a place.
func newObject(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	apiVersion, k := kind.ToAPIVersionAndKind()
	metadata := map[string]any{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": k, "metadata": metadata}}
}

func nameOf(obj *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}
