package clustertest

import (
	"embed"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

//go:embed manifests
var manifests embed.FS

// Manifest returns the objects of a file of the directory manifests, as YAML. Several files are put
// together.
func Manifest(names ...string) string {
	var texts []string
	for _, name := range names {
		data, err := manifests.ReadFile("manifests/" + name + ".yaml")
		if err != nil {
			panic(err)
		}
		texts = append(texts, string(data))
	}
	return strings.Join(texts, "---\n")
}

// Pod returns a Pod with a spec, as YAML.
func Pod(name, spec string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {%s}}", name, spec)
}

// SmallPod is the spec of a Pod with one container.
const SmallPod = `containers: [{name: c, image: i, resources: {requests: {cpu: "1", memory: 1Gi}}}]`

// Fleet returns n Deployments of ten replicas each, as YAML. Their names begin with web-0000.
func Fleet(n int) string {
	var b strings.Builder
	for i := range n {
		replacer := strings.NewReplacer("web", fmt.Sprintf("web-%04d", i), "replicas: 3", "replicas: 10")
		fmt.Fprintf(&b, "---\n%s", replacer.Replace(Manifest("deployment")))
	}
	return b.String()
}

// Kind returns the kind with the given name. It must be a kind that the tests use.
func Kind(name string) schema.GroupVersionKind {
	for _, gv := range []struct{ version, kinds string }{
		{"v1", "Pod Node Service Endpoints Namespace PersistentVolume PersistentVolumeClaim ReplicationController ResourceQuota ConfigMap"},
		{"apps/v1", "Deployment ReplicaSet StatefulSet DaemonSet ControllerRevision"},
		{"batch/v1", "Job CronJob"},
		{"autoscaling/v2", "HorizontalPodAutoscaler"},
		{"policy/v1", "PodDisruptionBudget"},
		{"storage.k8s.io/v1", "StorageClass CSINode CSIDriver CSIStorageCapacity VolumeAttachment"},
		{"discovery.k8s.io/v1", "EndpointSlice"},
		{"networking.k8s.io/v1", "ServiceCIDR IPAddress"},
		{"resource.k8s.io/v1", "ResourceClaim"},
		{"apiregistration.k8s.io/v1", "APIService"},
		{"certificates.k8s.io/v1", "CertificateSigningRequest"},
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition"},
	} {
		for _, kind := range strings.Fields(gv.kinds) {
			if kind == name {
				return schema.FromAPIVersionAndKind(gv.version, kind)
			}
		}
	}
	panic("unknown kind " + name)
}

// Bundle returns at least one object of each kind that has a controller, as YAML.
func Bundle() string { return Manifest("storageclass", "bundle", "daemonset", "job", "cronjob") }
