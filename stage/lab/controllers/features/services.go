package features

func serviceKinds() []Kind {
	return []Kind{
		kind("", "v1", "Service", "service",
			modelled("EndpointSlices list the Pods", "TestEndpointsListThePodsOfAService", "spec.selector", "spec.publishNotReadyAddresses",
				"spec.ports[].name", "spec.ports[].port", "spec.ports[].targetPort", "spec.ports[].protocol", "spec.ports[].appProtocol"),
			modelled("addresses of Services and load balancers", "TestRecordings", "spec.type", "spec.clusterIP", "spec.loadBalancerClass"),
			modelled("addresses of a Service stay", "TestUpdatesAreRefused", "spec.clusterIPs"),
			modelled("ports of Nodes", "TestRecordings", "spec.ports[].nodePort", "spec.allocateLoadBalancerNodePorts"),
			modelled("ports at which Nodes tell a load balancer whether they have Pods", "TestRecordings", "spec.healthCheckNodePort"),
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
