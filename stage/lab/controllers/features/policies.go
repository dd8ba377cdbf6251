package features

func policyKinds() []Kind {
	return []Kind{
		kind("policy", "v1", "PodDisruptionBudget", "disruption", modelled("how many Pods may be evicted", "TestEvictions", "spec"), status("TestAnEvictionSpendsTheBudget")),
		kind("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscaler", modelled("replicas follow metrics", "TestAnAutoscalerFollowsAnnotations", "spec"), status("TestAnAutoscalerFollowsAnnotations")),
		kind("", "v1", "ResourceQuota", "resourcequota", modelled("how much a namespace may have", "TestRecordings", "spec"), status("TestRecordings")),
		kind("", "v1", "LimitRange", "", modelled("limits and defaults of a namespace", "TestRecordings", "spec")),
		kind("", "v1", "Namespace", "", modelled("a Namespace is deleted after its last object", "TestANamespaceGoesWithItsLastObject", "spec.finalizers", "status")),
	}
}

// server is the program that reads a field although no controller of a lab does.
const server = "the server of stage/lab/apiserver, which does the same"

func otherKinds() []Kind {
	whole := func(group, name, feature string) Kind { return kind(group, "v1", name, "", reported(feature, "")) }
	served := func(group, name, hooks, feature, test string) Kind {
		return kind(group, "v1", name, "", withHooks(hooks, also(server, test, reported(feature, ""))))
	}
	return []Kind{
		kind("networking.k8s.io", "v1", "Ingress", "ingress", onNodes("read by ingress controllers", "spec")),
		served("admissionregistration.k8s.io", "MutatingAdmissionPolicy", "policies", "policies change objects", "TestMutatingPoliciesChangeObjects"),
		served("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding", "policies", "policies change objects", "TestMutatingPoliciesChangeObjects"),
		served("admissionregistration.k8s.io", "MutatingWebhookConfiguration", "webhooks", "webhooks are called", "TestWebhooksOfAManager"),
		served("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "webhooks", "webhooks are called", "TestWebhooksOfAManager"),
		served("admissionregistration.k8s.io", "ValidatingAdmissionPolicy", "policies", "policies refuse objects", "TestPoliciesDecide"),
		served("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding", "policies", "policies refuse objects", "TestPoliciesDecide"),
		served("rbac.authorization.k8s.io", "Role", "rbac", "permissions; without the option RBAC of the server every user may do everything", "TestRolesDecide"),
		served("rbac.authorization.k8s.io", "RoleBinding", "rbac", "permissions; without the option RBAC of the server every user may do everything", "TestRolesDecide"),
		kind("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterrole-aggregation",
			withHooks("rbac", also(server, "TestRolesDecide", reported("permissions; without the option RBAC of the server every user may do everything", ""))),
			modelled("rules are those of the ClusterRoles that are selected", "TestAggregation", "aggregationRule", "rules")),
		served("rbac.authorization.k8s.io", "ClusterRoleBinding", "rbac", "permissions; without the option RBAC of the server every user may do everything", "TestRolesDecide"),
		whole("flowcontrol.apiserver.k8s.io", "FlowSchema", "fairness between the clients of the API server (those of a new cluster are not reported)"),
		whole("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration", "fairness between the clients of the API server (those of a new cluster are not reported)"),
		kind("networking.k8s.io", "v1", "ServiceCIDR", "service-cidr", modelled("Services get addresses of it; a range in use stays", "TestServiceCIDRs", "spec"), status("TestServiceCIDRs")),
		kind("networking.k8s.io", "v1", "IPAddress", "", modelled("an address is taken; a server makes one for each address of a Service", "TestAddressesOfServices", "")),
		kind("networking.k8s.io", "v1", "NetworkPolicy", "", onNodes("which packets pass", "spec")),
		kind("networking.k8s.io", "v1", "IngressClass", "", onNodes("read by ingress controllers", "spec")),
		kind("certificates.k8s.io", "v1", "CertificateSigningRequest", "", withHooks("certificates", also(server, "TestCertificatesAreSigned", reported("certificates are signed", ""))),
			modelled("no certificates of administrators", "TestSubjectsOfCertificates", "spec.request", "spec.signerName"),
			modelled("old requests are deleted", "TestOldRequestsAreDeleted", "status"),
			[]Row{{Path: "spec", State: Stored, Feature: "read by signers"}}),
		kind("apiregistration.k8s.io", "v1", "APIService", "apiservice", modelled("whether its Service is there, with its port and endpoints", "TestAPIServices", "spec.service.name", "spec.service.namespace", "spec.service.port"),
			also("the controller of their status", "TestAPIServices", reported("requests go to other servers", "spec.service")), status("TestAPIServices"),
			[]Row{{Path: "spec", State: Stored, Feature: "in which order discovery lists the group, and how the other server is trusted"}}),
		kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "",
			modelled("kinds become known, with status, selectable fields and versions", "TestADefinitionMakesItsKindsKnownAndTakesThemAway", "spec.group", "spec.names", "spec.scope",
				"spec.versions[].name", "spec.versions[].served", "spec.versions[].storage", "spec.versions[].subresources", "spec.versions[].selectableFields", "status"),
			modelled("objects are pruned, get defaults and are validated, also by CEL rules; a definition without a schema is refused", "TestDefinitionsAct", "spec.versions[].schema"),
			modelled("objects are converted between versions: by Options.Convert of a lab, by the webhook on a server; without both the definition is refused", "TestConversionsComeInParts", "spec.conversion"),
			reportedUnless("unknown fields stay", "spec.preserveUnknownFields", "false"),
			modelled("columns of tables and warnings, which the server of stage/lab/apiserver sends", "TestColumnsAndWarningsOfADefinition",
				"spec.versions[].additionalPrinterColumns", "spec.versions[].deprecated", "spec.versions[].deprecationWarning")),
	}
}
