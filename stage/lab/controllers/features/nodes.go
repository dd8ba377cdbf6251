package features

func nodeKinds() []Kind {
	return []Kind{
		kind("", "v1", "Node", "",
			modelled("Pods stay away from a tainted Node, or are evicted", "TestTolerations", "spec.taints", "spec.unschedulable"),
			reported("Pods are not preempted for a resize", "spec.podPreemptionPolicy"),
			onNodes("addresses and providers", "spec.podCIDR", "spec.podCIDRs", "spec.providerID", "spec.externalID", "spec.configSource"),
			reported("features that a kubelet declares", "status.declaredFeatures"),
			modelled("capacity, conditions and heartbeats", "TestHeartbeats", "status")),
		kind("node.k8s.io", "v1", "RuntimeClass", "", modelled("overhead and Nodes of a RuntimeClass", "TestRuntimeClasses", "overhead", "scheduling"),
			onNodes("read by kubelets", "handler")),
		kind("scheduling.k8s.io", "v1", "PriorityClass", "",
			modelled("priority and preemption", "TestAPodPreemptsByItsPriorityClass", "value", "globalDefault", "preemptionPolicy"),
			onNodes("read by users", "description")),
		kind("resource.k8s.io", "v1", "ResourceClaim", "",
			also("quotas, which count the devices of a class", "TestDevicesCountByTheirClass", reported("dynamic resource allocation", ""))),
		kind("resource.k8s.io", "v1", "ResourceClaimTemplate", "", reported("dynamic resource allocation", "")),
		kind("resource.k8s.io", "v1", "ResourceSlice", "", reported("dynamic resource allocation", "")),
		kind("resource.k8s.io", "v1", "DeviceClass", "", reported("dynamic resource allocation", "")),
	}
}
