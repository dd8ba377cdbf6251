// Package kinds names the kinds of Kubernetes that the controllers read and write.
package kinds

import "k8s.io/apimachinery/pkg/runtime/schema"

var (
	Pod                       = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	Node                      = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	Service                   = schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	Endpoints                 = schema.GroupVersionKind{Version: "v1", Kind: "Endpoints"}
	Namespace                 = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	ConfigMap                 = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	ServiceAccount            = schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}
	PersistentVolume          = schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolume"}
	ResourceClaim             = schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1", Kind: "ResourceClaim"}
	PersistentVolumeClaim     = schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}
	ReplicationController     = schema.GroupVersionKind{Version: "v1", Kind: "ReplicationController"}
	Deployment                = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	ReplicaSet                = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}
	StatefulSet               = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
	DaemonSet                 = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "DaemonSet"}
	ControllerRevision        = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ControllerRevision"}
	Job                       = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	CronJob                   = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"}
	ClusterRole               = schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}
	Lease                     = schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}
	PodDisruptionBudget       = schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}
	PriorityClass             = schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"}
	CSINode                   = schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: "CSINode"}
	CSIDriver                 = schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: "CSIDriver"}
	CSIStorageCapacity        = schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: "CSIStorageCapacity"}
	VolumeAttachment          = schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: "VolumeAttachment"}
	RuntimeClass              = schema.GroupVersionKind{Group: "node.k8s.io", Version: "v1", Kind: "RuntimeClass"}
	ResourceQuota             = schema.GroupVersionKind{Version: "v1", Kind: "ResourceQuota"}
	LimitRange                = schema.GroupVersionKind{Version: "v1", Kind: "LimitRange"}
	StorageClass              = schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"}
	EndpointSlice             = schema.GroupVersionKind{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}
	APIService                = schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}
	ServiceCIDR               = schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "ServiceCIDR"}
	IPAddress                 = schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "IPAddress"}
	CertificateSigningRequest = schema.GroupVersionKind{Group: "certificates.k8s.io", Version: "v1", Kind: "CertificateSigningRequest"}
	HorizontalPodAutoscaler   = schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}
)
