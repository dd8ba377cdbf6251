package quota

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
)

var (
	pods           = schema.GroupResource{Resource: "pods"}
	services       = schema.GroupResource{Resource: "services"}
	claims         = schema.GroupResource{Resource: "persistentvolumeclaims"}
	deviceClaims   = schema.GroupResource{Group: "resource.k8s.io", Resource: "resourceclaims"}
	resourceQuotas = schema.GroupResource{Resource: "resourcequotas"}
)

// countPrefix begins the names that count objects.
const countPrefix = "count/"

// namedAlone are the resources that quotas can name without count/.
var namedAlone = []string{"configmaps", "persistentvolumeclaims", "replicationcontrollers", "resourcequotas", "secrets", "services"}

// usage returns the use of an object, by all names that a quota can have.
func usage(of schema.GroupResource, obj map[string]any) Quantities {
	used := Quantities{countPrefix + of.String(): pieces(1)}
	if of.Group == "" && slices.Contains(namedAlone, of.Resource) {
		used[of.Resource] = pieces(1)
	}
	switch of {
	case pods:
		return used.plus(usageOfPod(obj))
	case services:
		return used.plus(usageOfService(obj))
	case claims:
		return used.plus(usageOfClaim(obj))
	case deviceClaims:
		return used.plus(usageOfDevices(obj))
	}
	return used
}

func usageOfService(obj map[string]any) Quantities {
	ports := fields.Maps(obj, "spec", "ports")
	used := Quantities{"services.loadbalancers": pieces(0), "services.nodeports": pieces(0)}
	switch fields.String(obj, "spec", "type") {
	case "NodePort":
		used["services.nodeports"] = pieces(int64(len(ports)))
	case "LoadBalancer":
		used["services.loadbalancers"] = pieces(1)
		if allocate, ok := fields.Value(obj, "spec", "allocateLoadBalancerNodePorts").(bool); ok && !allocate {
			ports = slices.DeleteFunc(ports, func(p map[string]any) bool { return fields.Int64(p, 0, "nodePort") == 0 })
		}
		used["services.nodeports"] = pieces(int64(len(ports)))
	}
	return used
}

const ofClass = ".storageclass.storage.k8s.io/"

func usageOfClaim(obj map[string]any) Quantities {
	used := Quantities{}
	class := fields.String(obj, "spec", "storageClassName")
	if class != "" {
		used[class+ofClass+"persistentvolumeclaims"] = pieces(1)
	}
	if size, ok := read(fields.Map(obj, "spec", "resources", "requests"))["storage"]; ok {
		used["requests.storage"] = size
		if class != "" {
			used[class+ofClass+"requests.storage"] = size
		}
	}
	return used
}

// ofDevices ends the names of devices of a DeviceClass.
const ofDevices = ".deviceclass.resource.k8s.io/devices"

// usageOfDevices returns the devices that a ResourceClaim requests, by class. Of alternatives, the one
// with the most devices of a class counts.
func usageOfDevices(obj map[string]any) Quantities {
	used := Quantities{}
	for _, request := range fields.Maps(obj, "spec", "devices", "requests") {
		most := Quantities{}
		for _, alternative := range append(fields.Maps(request, "firstAvailable"), fields.Map(request, "exactly")) {
			if class := fields.String(alternative, "deviceClassName"); class != "" {
				most = most.raiseTo(Quantities{class + ofDevices: pieces(devicesOf(alternative))})
			}
		}
		used = used.plus(most)
	}
	return used
}

// mostDevices is the largest number of devices that a claim can get, which a request for all counts.
const mostDevices = 32

func devicesOf(request map[string]any) int64 {
	switch fields.String(request, "allocationMode") {
	case "ExactCount":
		return fields.Int64(request, 0, "count")
	case "All":
		return mostDevices
	}
	return 0
}

// podNames are the names in quotas that are about Pods, except for extended resources and huge
// pages.
var podNames = []string{
	"count/pods", "pods", "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage",
	"limits.cpu", "limits.memory", "limits.ephemeral-storage",
}

// matching returns the names in a quota that are about a resource.
func matching(of schema.GroupResource, names []string) (found []string) {
	for _, name := range names {
		switch {
		case name == countPrefix+of.String(), of.Group == "" && name == of.Resource && slices.Contains(namedAlone, name):
		case of == pods && (slices.Contains(podNames, name) || strings.HasPrefix(name, "hugepages-") || isExtendedRequest(name)):
		case of == services && (name == "services.nodeports" || name == "services.loadbalancers"):
		case of == deviceClaims && strings.HasSuffix(name, ofDevices):
		case of == claims && (name == "requests.storage" || strings.Contains(name, ofClass)):
		default:
			continue
		}
		found = append(found, name)
	}
	return found
}

// isExtendedRequest is true for requests.example.com/gpu and requests.hugepages-2Mi.
func isExtendedRequest(name string) bool {
	rest, ok := strings.CutPrefix(name, "requests.")
	return ok && (strings.Contains(rest, "/") && !strings.Contains(rest, ofClass) || strings.HasPrefix(rest, "hugepages-"))
}
