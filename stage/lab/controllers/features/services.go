package features

func serviceKinds() []Kind {
	return []Kind{
		kind("", "v1", "Service", "service",
			modelled("EndpointSlices list the Pods", "TestEndpointsListThePodsOfAService", "spec.selector", "spec.publishNotReadyAddresses",
				"spec.ports[].name", "spec.ports[].port", "spec.ports[].targetPort", "spec.ports[].protocol", "spec.ports[].appProtocol"),
			modelled("addresses of Services and load balancers", "TestRecordings", "spec.type", "spec.clusterIP", "spec.loadBalancerClass"),
			modelled("the addresses of a Service do not change", "TestUpdatesAreRefused", "spec.clusterIPs"),
			modelled("ports of Nodes", "TestRecordings", "spec.ports[].nodePort", "spec.allocateLoadBalancerNodePorts"),
			modelled("the port where a Node tells a load balancer whether it has Pods", "TestRecordings", "spec.healthCheckNodePort"),
			also("admission, which allocates spec.healthCheckNodePort for Local", "TestRecordings", onNodes("how kube-proxy sends packets", "spec.externalTrafficPolicy")),
			reported("an address that the user wants", "spec.loadBalancerIP"),
			reportedUnless("two families of addresses", "spec.ipFamilyPolicy", "SingleStack"),
			reportedUnless("two families of addresses", "spec.ipFamilies", "[IPv4]"),
			reported("hints in EndpointSlices", "spec.trafficDistribution"),
			onNodes("how kube-proxy sends packets", "spec.externalIPs", "spec.sessionAffinity", "spec.sessionAffinityConfig", "spec.loadBalancerSourceRanges",
				"spec.internalTrafficPolicy", "spec.externalName"),
			status("TestRecordings")),
	}
}
